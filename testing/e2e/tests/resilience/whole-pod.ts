import { deepStrictEqual as equal } from 'node:assert'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { inParallel } from '@csi-sidecars/base'
import type { TestContext } from '../../harness/context.ts'
import type { FakeDriver } from '../../harness/driver/driver.ts'
import { leaseName } from '../../harness/subject.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { attachAndWait, suffixes } from '../../rows/attacher/scene.ts'
import { calls, createClaim, eventOf, provisionedVolume } from '../../rows/provisioner/scene.ts'
import { grown, raised } from '../../rows/resizer/scene.ts'
import { createContent, ready } from '../../rows/snapshotter/scene.ts'
import { LONG_LEASE, pod } from '../../rows/work.ts'

const test = testsOf('both', 'whole pod', { only: 'ours' })

/** Returns the number of open connections to the only driver in a folder. */
function connectionsTo({ socket }: FakeDriver): number {
  const CONNECTED = '03'
  // The driver has bound its socket in a temporary folder beside `socket`, and the kernel shows that path.
  const bound = `${dirname(socket)}/.`
  const lines = readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .map((line) => line.split(/\s+/))
  return lines.filter(([, , , , , state, , path]) => state === CONNECTED && path?.startsWith(bound)).length
}

const CALLS =
  /"GRPC call" .*Controller\/(?:ControllerPublishVolume|ControllerExpandVolume|CreateVolume|CreateSnapshot)"/
const APPS = ['attacher', 'provisioner', 'resizer', 'snapshotter'] as const

test('the four controllers of one process share the watches and one connection, and hold four Leases', async (t) => {
  // Without `sendInitialEvents`, each kind takes three requests: a refused watch, a list and a watch.
  t.requires('sendInitialEvents')
  // After a failed request for its Lease, a controller leads later than its caches were filled, so they are listed again.
  const at = await pod(t, { args: LONG_LEASE })
  for (const method of ['Probe', 'GetPluginInfo', 'GetPluginCapabilities', 'ControllerGetCapabilities']) {
    equal([method, at.driver.callsOf(method).length], [method, 1])
  }
  await provisionedVolume(t, await createClaim(t))
  await attachAndWait(t, at)
  await grown(t, { suffix: '-grown' })
  await createContent(t)
  await ready(t)
  equal(connectionsTo(at.driver), 1)
  // The API server refuses watches of a new kind for a moment after its CRD was installed.
  const reads = at.sidecar.gate.requests.filter(
    ({ method, name, query, code }) => method === 'GET' && !name && query['limit'] === undefined && code < 400,
  )
  // A watch also delivers the list, so each kind takes one request.
  const kinds = reads.map(({ resource }) => resource).filter((resource) => resource !== '' && resource !== 'leases')
  equal(kinds.toSorted(), [...new Set(kinds)].toSorted())
  const leases = APPS.map((app) => leaseName(app, t.driverName)).sort()
  const renewals = (): readonly (string | undefined)[] =>
    at.sidecar.gate.writes('leases').flatMap(({ method, name }) => (method === 'PUT' ? [name] : []))
  await eventually('a renewal of each Lease', () => new Set(renewals()).size >= leases.length)
  equal([...new Set(renewals())].sort(), leases)
  const metrics = await at.sidecar.metrics()
  for (const name of leases) equal(metrics.value('leader_election_master_status', { name }), 1)
  const lines = at.sidecar.lines.filter((line) => CALLS.test(line))
  equal(
    lines.map((line) => /sidecar="([^"]*)"/.exec(line)?.[1]).sort(),
    APPS.map((app) => `csi-${app}`),
  )
  equal((await at.sidecar.endBy('SIGTERM')).code, 0)
})

test('hanging calls of one controller do not occupy workers of another controller', async (t) => {
  const at = await pod(t)
  for (const method of ['CreateVolume', 'CreateSnapshot']) at.driver.on(method, 'hang')
  await inParallel(12, suffixes(120), (suffix) => createClaim(t, { suffix: `-hanging${suffix}` }))
  for (const suffix of suffixes(15)) {
    const volumeSnapshotRef = { namespace: 'default', name: 's', uid: `uid${suffix}` }
    await createContent(t, { suffix: `content${suffix}`, spec: { volumeSnapshotRef } })
  }
  await calls(at.driver, 'CreateVolume', 100)
  await calls(at.driver, 'CreateSnapshot', 10)
  await attachAndWait(t, at, { within: 8000 })
  await grown(t, { suffix: '-grown' })
})

for (const [app, call, begin] of [
  ['provisioner', 'CreateVolume', (t, suffix) => createClaim(t, { suffix })],
  ['resizer', 'ControllerExpandVolume', (t, suffix) => raised(t, { suffix })],
] satisfies readonly [string, string, (t: TestContext, suffix: string) => Promise<unknown>][]) {
  const title = `200 claims for which ${call} fails repeatedly do not delay attaches`
  test(title, { alone: 'machine', within: 240_000 }, async (t) => {
    const at = await pod(t, { args: [`--${app}-retry-interval-start=50ms`, `--${app}-retry-interval-max=1s`, '-v=2'] })
    at.driver.on(call, { code: 3, message: 'never' })
    await inParallel(12, suffixes(200), (suffix) => begin(t, `-bad${suffix}`))
    await eventOf(t, t.name('pvc-bad-0'), 'never')
    for (const suffix of suffixes(10)) {
      const failed = at.driver.callsOf(call).length
      await eventually('another failing call', () => at.driver.callsOf(call).length > failed)
      await attachAndWait(t, at, { suffix, within: 8000 })
    }
  })
}
