import { deepStrictEqual as equal, match } from 'node:assert'
import { LEASES, PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { EXAMPLES, type Example, exampleFile, helmPath, render } from '../../../../charts/tests/helm.ts'
import { podSpecs } from '../../../../charts/tests/manifest.ts'
import { ApiFailure } from '../../harness/api/api.ts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import { Scraper } from '../../harness/process/scraper.ts'
import { leaseName, type ReleasedSubject } from '../../harness/subject.ts'
import { testsOf } from '../../harness/test.ts'
import { ATTACH, attachAndWait, attached, detachAndWait, finalizerOf } from '../attacher/scene.ts'
import { boundOn, createNode, nodeDriver, onNodes, register } from '../node-deployment/scene.ts'
import { ask, EXPAND, grown, resized } from '../resizer/scene.ts'
import { surroundings } from '../work.ts'
import { createAll, createNamespace, type Installation, installed, renderInto } from './rendered.ts'

/** The chart's objects as the API server sees them, and the sidecars as the chart starts them. Needs Helm. */

const DRIVERLESS = { only: 'ours', target: 'real' } as const
const test = helmPath() === undefined ? () => undefined : testsOf('attacher', 'chart')
const resizerTest = helmPath() === undefined ? () => undefined : testsOf('resizer', 'chart')
const bothTest = helmPath() === undefined ? () => undefined : testsOf('both', 'chart')
if (helmPath() === undefined) process.stdout.write('no tests of the chart: Helm is missing\n')

for (const example of EXAMPLES) {
  test(`every object of example ${example} is one that the API server takes`, DRIVERLESS, async (t) => {
    const objects = await renderInto(t, { files: [exampleFile(example)], tests: true })
    await createAll(t, objects, '?dryRun=All&fieldValidation=Strict')
  })
}

/** The answer of admission to the example's pod in this namespace. */
async function admission(t: TestContext, namespace: string, example: Example): Promise<string> {
  const [spec] = podSpecs(render({ files: [exampleFile(example)] }))
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name: 'pod' }, spec }
  try {
    await t.api.call('POST', `/api/v1/namespaces/${namespace}/pods?dryRun=All`, { body: pod })
    return 'admitted'
  } catch (error) {
    if (error instanceof ApiFailure && error.code === 403) return error.message
    throw error
  }
}

test('its pods pass the Pod Security level that it promises', DRIVERLESS, async (t) => {
  const [restricted, baseline] = [t.name('restricted'), t.name('baseline')]
  await createNamespace(t, restricted, { 'pod-security.kubernetes.io/enforce': 'restricted' })
  await createNamespace(t, baseline, { 'pod-security.kubernetes.io/enforce': 'baseline' })
  equal(await admission(t, restricted, 'restricted'), 'admitted')
  equal(await admission(t, baseline, 'driver'), 'admitted')
  match(await admission(t, restricted, 'driver'), /violates PodSecurity "restricted/)
})

/** The sidecar with exactly the arguments and the permissions that the chart renders, as its own service account. */
async function ofDriver(
  t: TestContext,
  app: ReleasedSubject,
  { values, ...setup }: Omit<Installation, 'example'>,
): Promise<{ running: RunningSidecar; readiness: () => Promise<string> }> {
  const logging = { verbosity: 5 }
  const { running, metricsPort } = await installed(t, app, {
    example: 'driver',
    ...setup,
    values: { logging, ...values },
  })
  return { running, readiness: async () => (await fetch(`http://127.0.0.1:${metricsPort}/readyz`)).text() }
}

/** Requests of the sidecar that the API server has refused. */
function refusedOf(t: TestContext, running: RunningSidecar): string[] {
  return t.cluster.auditOf([running.user]).filter((line) => line.includes('"code":403'))
}

test('the attacher works with the rendered arguments and rights, and lacks none', DRIVERLESS, async (t) => {
  const driver = await t.driver({ controller: ATTACH })
  const node = await t.createNode('node')
  const { running: attacher, readiness } = await ofDriver(t, 'attacher', { driver })
  await t.watching(attacher, 'volumeattachments', 'persistentvolumes', 'csinodes')
  await attacher.line('became leader, starting')
  const { object } = await attachAndWait(t, { node })
  equal(object.metadata?.finalizers, [finalizerOf(t.driverName)])
  await detachAndWait(t)
  equal(await readiness(), 'ok')
  equal((await t.api.list(LEASES, t.name('storage'))).length, 1)
  equal(refusedOf(t, attacher), [])
})

resizerTest(
  'the resizer on a node works with the rendered arguments and rights, and needs no lease',
  DRIVERLESS,
  async (t) => {
    const node = t.name('a')
    await createNode(t, node)
    await register(t, node)
    const driver = await nodeDriver(t)
    await t.createClass()
    const values = {
      controller: { kind: 'DaemonSet' },
      leaderElection: { enabled: false },
      resizer: { nodeDeployment: true },
    }
    const env = { NODE_NAME: node }
    const { running: resizer, readiness } = await ofDriver(t, 'resizer', { driver, values, env })
    await t.watching(resizer, 'persistentvolumeclaims', 'persistentvolumes', 'nodes', 'csinodes')
    await boundOn(t, onNodes(t, node))
    await ask(t, '2Gi')
    await resized(t, '2Gi')
    equal(await readiness(), 'ok')
    equal(await t.api.list(LEASES, t.name('storage')), [])
    equal(refusedOf(t, resizer), [])
  },
)

resizerTest('the resizer works with the rendered arguments and rights, and lacks none', DRIVERLESS, async (t) => {
  const driver = await t.driver({ controller: EXPAND })
  await t.createClass()
  const { running: resizer, readiness } = await ofDriver(t, 'resizer', { driver })
  await t.watching(resizer, 'persistentvolumeclaims', 'persistentvolumes')
  await resizer.line('became leader, starting')
  const { status } = (await grown(t)).claim
  equal(status?.capacity, { storage: '2Gi' })
  await t.api.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: t.namespace, name: t.name('pvc') })
  equal(await readiness(), 'ok')
  equal(refusedOf(t, resizer), [])
})

bothTest('process one works with the rendered arguments and rights, and lacks none', DRIVERLESS, async (t) => {
  const driver = await t.fullDriver()
  const node = await surroundings(t)
  const { running, readiness } = await ofDriver(t, 'both', { driver })
  await t.watching(running, 'volumeattachments', 'persistentvolumes', 'csinodes', 'persistentvolumeclaims')
  await grown(t)
  await t.createAttachment('va', { pv: t.name('pv'), node })
  await attached(t)
  await detachAndWait(t)
  equal(await readiness(), 'ok')
  equal((await t.api.list(LEASES, t.name('storage'))).length, 2)
  equal(refusedOf(t, running), [])
})

bothTest('process one works with one lease and the rights for it', DRIVERLESS, async (t) => {
  const driver = await t.fullDriver()
  const node = await t.createNode('node')
  const { running } = await ofDriver(t, 'both', { driver, values: { sidecars: { singleLease: 'one-lease' } } })
  await running.line('became leader, starting')
  await attachAndWait(t, { node })
  const leases = (await t.api.list(LEASES, t.name('storage'))).map(({ metadata }) => metadata?.name)
  equal(leases, ['one-lease'])
  equal(refusedOf(t, running), [])
})

for (const app of ['attacher', 'resizer'] as const) {
  const testOf = app === 'attacher' ? test : resizerTest

  testOf('the Go original leads with the rendered rights, and lacks none of leases', DRIVERLESS, async (t) => {
    const { running } = await ofDriver(t, app, { driver: await t.fullDriver(), binary: t.original(app) })
    await running.line('became leader, starting')
    const lease = { namespace: t.name('storage'), name: leaseName(app, t.driverName) }
    await t.api.until(LEASES, lease, ({ spec }) => {
      return spec?.renewTime !== undefined && spec.renewTime !== spec.acquireTime
    })
    const ofLeases = refusedOf(t, running).filter((line) => line.includes('leases'))
    equal(ofLeases, [])
  })

  testOf('the lease of another driver is out of its reach', DRIVERLESS, async (t) => {
    const { running } = await ofDriver(t, app, { driver: await t.fullDriver() })
    await running.line('became leader, starting')
    const path = `/apis/coordination.k8s.io/v1/namespaces/${t.name('storage')}/leases/other`
    const { port } = new URL(t.cluster.url)
    const account = new Scraper({ port: Number(port), ca: t.cluster.ca, token: running.user.token })
    equal(await account.code(path), 403)
    equal(await account.code(path.replace(/other$/, leaseName(app, t.driverName))), 200)
  })
}
