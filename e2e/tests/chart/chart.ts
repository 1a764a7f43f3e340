import { deepStrictEqual as equal, match } from 'node:assert'
import { join } from 'node:path'
import { freePort } from '@csi-sidecars/emulator'
import {
  CSI_NODES,
  LEASES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { EXAMPLES, type Example, exampleFile, helmPath, render } from '../../../charts/tests/helm.ts'
import { podSpecs, sidecar } from '../../../charts/tests/manifest.ts'
import { ApiFailure } from '../../harness/api/api.ts'
import { attachment, csiNode, storageClass, volume } from '../../harness/api/objects.ts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import type { Driver } from '../../harness/driver/driver.ts'
import { Scraper } from '../../harness/process/scraper.ts'
import type { Subject } from '../../harness/subject.ts'
import { testsOf } from '../../harness/test.ts'
import { ATTACH, attached, finalizerOf } from '../attacher/scene.ts'
import { boundOn, createNode, nodeDriver, onNodes, register } from '../node-deployment/scene.ts'
import { ask, bound, EXPAND, GI, resized } from '../resizer/scene.ts'
import { createAll, createNamespace, renderInto } from './rendered.ts'

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

interface Installed {
  readonly running: RunningSidecar
  /** The answer of /readyz. */
  readonly readiness: () => Promise<string>
}

/** The sidecar with exactly the arguments and the permissions that the chart renders, as its own service account. */
async function installed(
  t: TestContext,
  app: Subject,
  {
    driver,
    ...setup
  }: { readonly driver: Driver; readonly binary?: string; readonly singleLease?: string; readonly node?: string },
): Promise<Installed> {
  const namespace = t.name('storage')
  const metricsPort = await freePort()
  const kubeconfig = join(t.folder, 'account.json')
  const section = app === 'both' ? 'sidecars' : app
  const off = app === 'attacher' ? 'resizer' : 'attacher'
  const values = {
    fullnameOverride: t.name('chart'),
    driver: { name: t.driverName },
    logging: { verbosity: 5 },
    socketDir: { mountPath: t.folder, fileName: driver.socket.slice(t.folder.length + 1) },
    ...(app === 'both' ? { process: 'one' } : { [off]: { enabled: false } }),
    ...(setup.node !== undefined && { controller: { kind: 'DaemonSet' }, leaderElection: { enabled: false } }),
    [section]: {
      ...(setup.node !== undefined && { nodeDeployment: true }),
      metricsPort,
      additionalArgs: [`--kubeconfig=${kubeconfig}`],
      ...(setup.singleLease !== undefined && { singleLease: setup.singleLease }),
    },
  }
  const objects = await renderInto(t, { files: [exampleFile('driver')], values })
  await createAll(t, objects)
  const account = podSpecs(objects)[0]?.serviceAccountName
  const tokens = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const { status } = await t.api.call<{ status: { token: string } }>('POST', tokens, { body })
  const name = `system:serviceaccount:${namespace}:${account}`
  const gate = await t.gate()
  const file = t.kubeconfig(gate.url, status.token)
  const { args = [] } = sidecar(objects, section)
  const running = await t.sidecar({
    app,
    gate,
    ...(setup.binary !== undefined && { binary: setup.binary }),
    user: { name, token: status.token },
    bareArgs: args.map((argument) => argument.replace(kubeconfig, file)),
    env: { POD_NAMESPACE: namespace, ...(setup.node !== undefined && { NODE_NAME: setup.node }) },
  })
  return { running, readiness: async () => (await fetch(`http://127.0.0.1:${metricsPort}/readyz`)).text() }
}

/** Requests of the sidecar that the API server has refused. */
function refusedOf(t: TestContext, running: RunningSidecar): string[] {
  return t.cluster.auditOf([running.user]).filter((line) => line.includes('"code":403'))
}

test('the attacher works with the rendered arguments and rights, and lacks none', DRIVERLESS, async (t) => {
  const driver = await t.driver({ controller: ATTACH })
  const node = t.name('node')
  await t.create(CSI_NODES, csiNode(node, { [t.driverName]: `${node}-id` }))
  const { running: attacher, readiness } = await installed(t, 'attacher', { driver })
  await t.watching(attacher, 'volumeattachments', 'persistentvolumes', 'csinodes')
  await attacher.line('became leader, starting')
  const pv = volume(t.name('pv'), t.driverName)
  await t.create(PERSISTENT_VOLUMES, pv)
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va'), t.driverName, { pv: t.name('pv'), node }))
  equal((await attached(t)).metadata?.finalizers, [finalizerOf(t.driverName)])
  await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name('va') })
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name: t.name('va') })
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
    await t.create(STORAGE_CLASSES, storageClass(t.name('class'), t.driverName))
    const { running: resizer, readiness } = await installed(t, 'resizer', { driver, node })
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
  const driver = await t.driver({ controller: EXPAND, node: [] })
  driver.on('ControllerExpandVolume', { reply: { capacityBytes: BigInt(2 * GI), nodeExpansionRequired: false } })
  await t.create(STORAGE_CLASSES, storageClass(t.name('class'), t.driverName))
  const { running: resizer, readiness } = await installed(t, 'resizer', { driver })
  await t.watching(resizer, 'persistentvolumeclaims', 'persistentvolumes')
  await resizer.line('became leader, starting')
  await bound(t)
  await ask(t, '2Gi')
  const { status } = await resized(t, '2Gi')
  equal(status?.capacity, { storage: '2Gi' })
  await t.api.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: t.namespace, name: t.name('pvc') })
  equal(await readiness(), 'ok')
  equal(refusedOf(t, resizer), [])
})

bothTest('process one works with the rendered arguments and rights, and lacks none', DRIVERLESS, async (t) => {
  const driver = await t.driver({ controller: [...ATTACH, ...EXPAND], node: [] })
  driver.on('ControllerExpandVolume', { reply: { capacityBytes: BigInt(2 * GI), nodeExpansionRequired: false } })
  const node = t.name('node')
  await t.create(CSI_NODES, csiNode(node, { [t.driverName]: `${node}-id` }))
  await t.create(STORAGE_CLASSES, storageClass(t.name('class'), t.driverName))
  const { running, readiness } = await installed(t, 'both', { driver })
  await t.watching(running, 'volumeattachments', 'persistentvolumes', 'csinodes', 'persistentvolumeclaims')
  await bound(t)
  await ask(t, '2Gi')
  await resized(t, '2Gi')
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va'), t.driverName, { pv: t.name('pv'), node }))
  await attached(t)
  await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name('va') })
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name: t.name('va') })
  equal(await readiness(), 'ok')
  equal((await t.api.list(LEASES, t.name('storage'))).length, 2)
  equal(refusedOf(t, running), [])
})

bothTest('process one works with one lease and the rights for it', DRIVERLESS, async (t) => {
  const driver = await t.driver({ controller: [...ATTACH, ...EXPAND], node: [] })
  const node = t.name('node')
  await t.create(CSI_NODES, csiNode(node, { [t.driverName]: `${node}-id` }))
  const { running } = await installed(t, 'both', { driver, singleLease: 'one-lease' })
  await running.line('became leader, starting')
  await t.create(PERSISTENT_VOLUMES, volume(t.name('pv'), t.driverName))
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va'), t.driverName, { pv: t.name('pv'), node }))
  await attached(t)
  equal(
    (await t.api.list(LEASES, t.name('storage'))).map(({ metadata }) => metadata?.name),
    ['one-lease'],
  )
  equal(refusedOf(t, running), [])
})

for (const app of ['attacher', 'resizer'] as const) {
  const testOf = app === 'attacher' ? test : resizerTest

  testOf('the Go original leads with the rendered rights, and lacks none of leases', DRIVERLESS, async (t) => {
    const driver = await t.driver({ controller: [...ATTACH, ...EXPAND], node: [] })
    const { running } = await installed(t, app, { driver, binary: t.original(app) })
    await running.line('became leader, starting')
    await t.api.until(LEASES, { namespace: t.name('storage'), name: leaseOf(t, app) }, ({ spec }) => {
      return spec?.renewTime !== undefined && spec.renewTime !== spec.acquireTime
    })
    const ofLeases = refusedOf(t, running).filter((line) => line.includes('leases'))
    equal(ofLeases, [])
  })

  testOf('the lease of another driver is out of its reach', DRIVERLESS, async (t) => {
    const driver = await t.driver({ controller: [...ATTACH, ...EXPAND], node: [] })
    const { running } = await installed(t, app, { driver })
    await running.line('became leader, starting')
    const path = `/apis/coordination.k8s.io/v1/namespaces/${t.name('storage')}/leases/other`
    const { port } = new URL(t.cluster.url)
    const account = new Scraper({ port: Number(port), ca: t.cluster.ca, token: running.user.token })
    equal(await account.code(path), 403)
    equal(await account.code(path.replace(/other$/, leaseOf(t, app))), 200)
  })
}

function leaseOf(t: TestContext, app: 'attacher' | 'resizer'): string {
  const prefix = app === 'attacher' ? 'external-attacher-leader' : 'external-resizer'
  return `${prefix}-${t.driverName.replaceAll('.', '-')}`
}
