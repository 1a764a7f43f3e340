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
import { ApiFailure } from '../../harness/api.ts'
import type { Driver } from '../../harness/driver.ts'
import { attachment, csiNode, storageClass, volume } from '../../harness/objects.ts'
import { storiesOf } from '../../harness/story.ts'
import type { Subject } from '../../harness/subject.ts'
import type { RunningSidecar, World } from '../../harness/world.ts'
import { ATTACH, attached, finalizerOf } from '../attacher/scene.ts'
import { ask, bound, EXPAND, GI, resized } from '../resizer/scene.ts'
import { createAll, createNamespace, renderInto } from './rendered.ts'

/** The chart's objects as the API server sees them, and the sidecars as the chart starts them. Needs Helm. */

const DRIVERLESS = { only: 'ours', target: 'real' } as const
const story = helmPath() === undefined ? () => undefined : storiesOf('attacher', 'chart')
const resizerStory = helmPath() === undefined ? () => undefined : storiesOf('resizer', 'chart')
const bothStory = helmPath() === undefined ? () => undefined : storiesOf('both', 'chart')
if (helmPath() === undefined) process.stdout.write('no stories about the chart: there is no Helm\n')

for (const example of EXAMPLES) {
  story(`every object of example ${example} is one that the API server takes`, DRIVERLESS, async (t) => {
    const objects = await renderInto(t, { files: [exampleFile(example)] })
    await createAll(t, objects, '?dryRun=All&fieldValidation=Strict')
  })
}

/** What admission says to the example's pod in this namespace. */
async function admission(t: World, namespace: string, example: Example): Promise<string> {
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

story('its pods pass the Pod Security level that it promises', DRIVERLESS, async (t) => {
  const [restricted, baseline] = [t.name('restricted'), t.name('baseline')]
  await createNamespace(t, restricted, { 'pod-security.kubernetes.io/enforce': 'restricted' })
  await createNamespace(t, baseline, { 'pod-security.kubernetes.io/enforce': 'baseline' })
  equal(await admission(t, restricted, 'restricted'), 'admitted')
  equal(await admission(t, baseline, 'driver'), 'admitted')
  match(await admission(t, restricted, 'driver'), /violates PodSecurity "restricted/)
})

interface Installed {
  readonly running: RunningSidecar
  /** What /readyz says. */
  readonly readiness: () => Promise<string>
}

/** The sidecar with exactly the arguments and the rights that the chart renders, as its own service account. */
async function installed(t: World, app: Subject, driver: Driver): Promise<Installed> {
  const namespace = t.name('storage')
  const metricsPort = await freePort()
  const kubeconfig = join(t.folder, 'account.json')
  const section = app === 'both' ? 'sidecars' : app
  const off = app === 'attacher' ? 'resizer' : 'attacher'
  const values = {
    fullnameOverride: t.name('chart'),
    logging: { verbosity: 5 },
    socketDir: { mountPath: t.folder, fileName: driver.socket.slice(t.folder.length + 1) },
    ...(app === 'both' ? { process: 'one' } : { [off]: { enabled: false } }),
    [section]: { metricsPort, additionalArgs: [`--kubeconfig=${kubeconfig}`] },
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
    user: { name, token: status.token },
    bareArgs: args.map((argument) => argument.replace(kubeconfig, file)),
    env: { POD_NAMESPACE: namespace },
  })
  return { running, readiness: async () => (await fetch(`http://127.0.0.1:${metricsPort}/readyz`)).text() }
}

/** Requests of the sidecar that the API server has refused. */
function refusedOf(t: World, running: RunningSidecar): string[] {
  return t.cluster.auditOf([running.user]).filter((line) => line.includes('"code":403'))
}

story('the attacher works with the rendered arguments and rights, and lacks none', DRIVERLESS, async (t) => {
  const driver = await t.driver({ controller: ATTACH })
  const node = t.name('node')
  await t.create(CSI_NODES, csiNode(node, { [t.driverName]: `${node}-id` }))
  const { running: attacher, readiness } = await installed(t, 'attacher', driver)
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

resizerStory('the resizer works with the rendered arguments and rights, and lacks none', DRIVERLESS, async (t) => {
  const driver = await t.driver({ controller: EXPAND, node: [] })
  driver.on('ControllerExpandVolume', { reply: { capacityBytes: BigInt(2 * GI), nodeExpansionRequired: false } })
  await t.create(STORAGE_CLASSES, storageClass(t.name('class'), t.driverName))
  const { running: resizer, readiness } = await installed(t, 'resizer', driver)
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

bothStory('process one works with the rendered arguments and rights, and lacks none', DRIVERLESS, async (t) => {
  const driver = await t.driver({ controller: [...ATTACH, ...EXPAND], node: [] })
  driver.on('ControllerExpandVolume', { reply: { capacityBytes: BigInt(2 * GI), nodeExpansionRequired: false } })
  const node = t.name('node')
  await t.create(CSI_NODES, csiNode(node, { [t.driverName]: `${node}-id` }))
  await t.create(STORAGE_CLASSES, storageClass(t.name('class'), t.driverName))
  const { running, readiness } = await installed(t, 'both', driver)
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
