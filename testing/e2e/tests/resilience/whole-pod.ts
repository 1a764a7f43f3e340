import { deepStrictEqual as equal, ok } from 'node:assert'
import { inParallel } from '@csi-sidecars/base'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { attachAndWait, suffixes } from '../attacher/scene.ts'
import { calls, createClaim, eventOf, provisioned } from '../provisioner/scene.ts'
import { grown, raised } from '../resizer/scene.ts'
import { createContent, ready } from '../snapshotter/scene.ts'
import { pod } from '../work.ts'

const test = testsOf('both', 'whole pod', { only: 'ours' })

test('the four controllers of one process share one watch of each kind', async (t) => {
  // Without `sendInitialEvents`, each kind takes three requests: a refused watch, a list and a watch.
  t.requires('sendInitialEvents')
  const at = await pod(t)
  await provisioned(t, await createClaim(t))
  await attachAndWait(t, at)
  await grown(t, { suffix: '-grown' })
  await createContent(t)
  await ready(t)
  // The API server refuses watches of a new kind for a moment after its CRD was installed.
  const requests = at.sidecar.gate.requests.filter(({ watch, code }) => watch && code < 400)
  const kinds = requests.map(({ resource }) => resource)
  equal(kinds.toSorted(), [...new Set(kinds)].toSorted())
})

test('hanging calls of one controller do not occupy workers of another controller', async (t) => {
  const at = await pod(t)
  for (const method of ['CreateVolume', 'CreateSnapshot']) at.driver.on(method, 'hang')
  await inParallel(12, suffixes(120), (suffix) => createClaim(t, { suffix: `-hanging${suffix}` }))
  for (const suffix of suffixes(15)) {
    const volumeSnapshotRef = { namespace: 'default', name: 's', uid: `uid${suffix}` }
    await createContent(t, { what: `content${suffix}`, spec: { volumeSnapshotRef } })
  }
  await calls(at.driver, 'CreateVolume', 100)
  await calls(at.driver, 'CreateSnapshot', 10)
  await attachAndWait(t, at, { within: 3000 })
  await grown(t, { suffix: '-grown' })
})

for (const [app, call, begin] of [
  ['provisioner', 'CreateVolume', (t, suffix) => createClaim(t, { suffix })],
  ['resizer', 'ControllerExpandVolume', (t, suffix) => raised(t, { suffix })],
] satisfies readonly [string, string, (t: TestContext, suffix: string) => Promise<unknown>][]) {
  const title = `200 claims for which ${call} fails repeatedly do not delay attaches`
  test(title, { alone: true, within: 240_000 }, async (t) => {
    const at = await pod(t, { args: [`--${app}-retry-interval-start=50ms`, `--${app}-retry-interval-max=1s`, '-v=2'] })
    at.driver.on(call, { code: 3, message: 'never' })
    await inParallel(12, suffixes(200), (suffix) => begin(t, `-bad${suffix}`))
    await eventOf(t, t.name('pvc-bad-0'), 'never')
    const failing = at.driver.callsOf(call).length
    for (const suffix of suffixes(10)) await attachAndWait(t, at, { suffix, within: 3000 })
    ok(at.driver.callsOf(call).length > failing, 'claims kept failing meanwhile')
  })
}
