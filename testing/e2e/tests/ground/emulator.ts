import { deepStrictEqual as equal, match, rejects } from 'node:assert'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import {
  CONFORMANCE_CASES,
  compare,
  readRecorded,
  runConformance,
  type Server,
  writeRecorded,
} from '@csi-sidecars/conformance'
import { startCsiDriver } from '@csi-sidecars/emulator'
import { createKubeClient, flowOptions, type KubeClient, loadClusterConfig } from '@csi-sidecars/kube-client'
import {
  CSI_NODE_MESSAGE,
  CSI_NODES,
  isJsonObject,
  type KubeObject,
  type MessageReader,
  NODE_MESSAGE,
  NODES,
  PERSISTENT_VOLUME_CLAIM_MESSAGE,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUME_MESSAGE,
  PERSISTENT_VOLUMES,
  POD_MESSAGE,
  PODS,
  type Resource,
  VOLUME_ATTACHMENT_MESSAGE,
  VOLUME_ATTACHMENTS,
  VOLUME_ATTRIBUTES_CLASS_MESSAGE,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import { silentLogger } from '@csi-sidecars/telemetry'
import type { Cluster } from '../../harness/api/cluster.ts'
import { startEmulated } from '../../harness/api/emulated.ts'
import { installSnapshotCrds, kubectl } from '../../harness/api/kubectl.ts'
import { attachment, attributesClass, claim, csiNode, pod, volume } from '../../harness/api/objects.ts'
import { kubeconfigOf } from '../../harness/context.ts'
import { exitOf, runToEnd, start, temporaryFolder } from '../../harness/process/processes.ts'
import { conformanceVersion, goProgram } from '../../harness/programs/binaries.ts'
import { type Check, check, RECORDS } from '../../harness/test.ts'
import { requireInRelease } from '../../harness/test-objects.ts'
import { eventually } from '../../harness/waiting.ts'

function serverOf({ url, adminToken, alice }: Cluster): Server {
  return { url, tokens: { admin: adminToken, alice: alice.token } }
}

/** Sends the requests of all conformance cases to the real server, and returns its answers. */
async function answersOf(cluster: Cluster, folder: string): ReturnType<typeof runConformance> {
  const kubeconfig = join(folder, 'admin.json')
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(cluster.url, cluster.ca, { token: cluster.adminToken })))
  await installSnapshotCrds(kubeconfig)
  return await runConformance(serverOf(cluster), CONFORMANCE_CASES)
}

// The emulator copies one version of Kubernetes. Of the others, the answers that differ are recorded.
const conformance = conformanceVersion()
if (conformance.kind === 'emulated') {
  check(
    'emulator, conformance: the emulator answers like a real API server',
    { target: 'real', alone: 'cluster' },
    async ({ cluster, folder }) => {
      const emulated = await startEmulated()
      try {
        const ours = await runConformance(serverOf(emulated), CONFORMANCE_CASES)
        const real = await answersOf(cluster, folder)
        if (RECORDS) writeRecorded(real)
        equal(compare(real, ours).join('\n'), '')
      } finally {
        await emulated.stop()
      }
    },
  )
} else if (conformance.kind === 'recorded') {
  const { version } = conformance
  check(
    `emulator, conformance: a real API server of Kubernetes ${version} answers as recorded`,
    { target: 'real', alone: 'cluster' },
    async ({ cluster, folder }) => {
      const real = await answersOf(cluster, folder)
      if (RECORDS) writeRecorded(real, version)
      equal(compare(readRecorded(version), real).join('\n'), '')
    },
  )
}

/** Runs csi-sanity, the test suite of the CSI community, against the emulated driver. */
const sanity: Check['run'] = async ({ folder }) => {
  const binary = goProgram(resolve(import.meta.dirname, '../../../..'), 'csi-sanity')
  const place = temporaryFolder('sanity')
  const socket = join(place, 'csi.sock')
  const options = { nodes: ['node-1'], mutableParameters: [], makesTargets: true }
  const driver = await startCsiDriver({
    socket,
    ...options,
    plugin: ['CONTROLLER_SERVICE', 'GROUP_CONTROLLER_SERVICE'],
  })
  const more = ['CLONE_VOLUME', 'CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS', 'GET_SNAPSHOT'] as const
  driver.settings.controller = [...driver.settings.controller, ...more]
  for (const name of ['target', 'staging']) mkdirSync(join(place, name))
  const { code, output } = await runToEnd(binary, [
    `--csi.endpoint=unix://${socket}`,
    `--csi.mountdir=${join(place, 'target', 'mount')}`,
    `--csi.stagingdir=${join(place, 'staging', 'mount')}`,
    '--ginkgo.no-color',
  ])
  writeFileSync(join(folder, 'csi-sanity.log'), output)
  await driver.stop()
  equal(code, 0, output.slice(-3000))
  match(output, /Ran [1-9]\d* of \d+ Specs/)
}

check('emulator, CSI driver: csi-sanity passes with the emulated driver', 'emulator', sanity)

const MAIN = resolve(import.meta.dirname, '../../../../desk/emulator/src/main.ts')

const FILE = `apiVersion: v1
kind: ConfigMap
metadata: {name: file-a}
data: {size: "1"}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: file-b}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

const CONTENT = `apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotContent
metadata: {name: content}
spec:
  driver: csi.example.com
  deletionPolicy: Delete
  source: {snapshotHandle: handle}
  volumeSnapshotRef: {namespace: default, name: snapshot}
`

interface Emulator {
  readonly ask: (...args: readonly string[]) => Promise<string>
  /** Writes a file for kubectl commands, and returns its path. */
  readonly file: (name: string, text: string) => string
}

/** Runs the emulator as a separate process while `work` runs. */
async function withEmulator(work: (emulator: Emulator) => Promise<void>): Promise<void> {
  const place = temporaryFolder('emulator')
  const kubeconfig = join(place, 'kubeconfig')
  const child = start(process.execPath, [MAIN, `--kubeconfig-out=${kubeconfig}`])
  await eventually('the kubeconfig', () => existsSync(kubeconfig) && readFileSync(kubeconfig, 'utf8') !== '')
  await work({
    ask: (...args) => kubectl(kubeconfig, ...args),
    file(name, text) {
      writeFileSync(join(place, name), text)
      return join(place, name)
    },
  })
  child.kill('SIGTERM')
  equal((await exitOf(child)).code, 0)
}

check('emulator: kubectl applies, reads, changes and deletes the objects of a file', 'emulator', () =>
  withEmulator(async ({ ask, file }) => {
    const objects = file('objects.yaml', FILE)
    equal(await ask('apply', '--filename', objects), 'configmap/file-a created\npersistentvolumeclaim/file-b created\n')
    file('objects.yaml', FILE.replace('size: "1"', 'size: "2"'))
    match(await ask('apply', '--filename', objects), /^configmap\/file-a configured\npersistentvolumeclaim\/file-b /)
    match(await ask('get', '--filename', objects, '--no-headers'), /configmap\/file-a +1 .*claim\/file-b +Pending /s)
    equal(await ask('get', 'configmap', 'file-a', '--output=jsonpath={.data.size}'), '2')
    match(await ask('describe', 'pvc', 'file-b'), /Name: +file-b\nNamespace: +default\n.*Status: +Pending\n/s)
    const waits = ask('wait', '--for=jsonpath={.metadata.labels.a}=b', 'pvc/file-b', '--timeout=20s')
    const watches = ask('get', 'pvc', 'file-b', '--watch', '--output=name', '--request-timeout=3s')
    await ask('patch', 'pvc', 'file-b', '--type=merge', '--patch={"metadata":{"labels":{"a":"b"}}}')
    equal(await waits, 'persistentvolumeclaim/file-b condition met\n')
    match(await watches, /^persistentvolumeclaim\/file-b\n/)
    match(await ask('delete', '--filename', objects, '--wait=false'), /"file-a" deleted.*"file-b" deleted/s)
    await rejects(ask('apply', '--server-side', '--filename', objects), /does not support server-side apply/)
    await rejects(ask('get', 'services'), /the server doesn't have a resource type "services"/)
  }),
)

check('emulator: kubectl creates, prints and explains custom resources', 'emulator', () =>
  withEmulator(async ({ ask, file }) => {
    const content = file('content.yaml', CONTENT)
    equal(await ask('create', '--filename', content), 'volumesnapshotcontent.snapshot.storage.k8s.io/content created\n')
    match(await ask('get', 'vsc'), /^NAME +READYTOUSE +RESTORESIZE +DELETIONPOLICY +DRIVER .*\ncontent +.*Delete +csi/)
    equal(await ask('delete', 'vsc', 'content'), 'volumesnapshotcontent.snapshot.storage.k8s.io "content" deleted\n')
    match(await ask('explain', 'volumesnapshotcontents.spec.source'), /snapshotHandle\s+<string>/)
    match(await ask('explain', 'pvc.spec.accessModes'), /FIELD: accessModes <\[\]string>/)
    const strict = file('strict.yaml', CONTENT.replace('snapshotHandle', 'snapshotHandel'))
    await rejects(ask('create', '--filename', strict), /unknown field "spec.source.snapshotHandel"/)
  }),
)

const DRIVER = 'protobuf.example.com'
const NAME = 'protobuf'
const META = {
  labels: { 'topology.kubernetes.io/zone': 'a', b: '' },
  annotations: { 'example.com/text': 'Größe 😀' },
  finalizers: ['example.com/kept'],
}
const AFFINITY = {
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a', 'b'] }] }] },
}

/** Creates one object of each kind. Each object has nearly all fields that the sidecars read. */
async function populate({ api }: Cluster): Promise<void> {
  const csi = {
    fsType: 'ext4',
    readOnly: true,
    volumeAttributes: { a: 'b', c: '' },
    controllerPublishSecretRef: { name: 's', namespace: 'n' },
    controllerExpandSecretRef: { name: 's', namespace: 'n' },
  }
  const claimRef = { namespace: 'default', name: 'claim', uid: 'u' }
  const common = { metadata: META, nodeAffinity: AFFINITY, claimRef, mountOptions: ['ro'], storageClassName: 'fast' }
  await api.create(PERSISTENT_VOLUMES, volume(`${NAME}-csi`, DRIVER, { ...common, csi, volumeMode: 'Filesystem' }))
  await api.create(PERSISTENT_VOLUMES, volume(`${NAME}-bare`, DRIVER))
  const disk = { pdName: 'disk', fsType: 'ext4', partition: 2, readOnly: true }
  await api.create(PERSISTENT_VOLUMES, volume(`${NAME}-disk`, '', { ...common, csi: null, gcePersistentDisk: disk }))

  const inlineVolumeSpec = { accessModes: ['ReadWriteOnce'], csi: { driver: DRIVER, volumeHandle: 'inline' } }
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: false, blockOwnerDeletion: true }
  const metadata = { ...META, ownerReferences: [owner] }
  await api.create(VOLUME_ATTACHMENTS, attachment(`${NAME}-inline`, DRIVER, { metadata, source: { inlineVolumeSpec } }))
  await api.create(VOLUME_ATTACHMENTS, attachment(NAME, DRIVER, { pv: `${NAME}-csi` }))
  const error = { message: 'no', time: '2026-11-22T12:00:00Z' }
  const attachStatus = {
    attached: false,
    attachError: error,
    detachError: { message: '' },
    attachmentMetadata: { a: '' },
  }
  await api.merge(VOLUME_ATTACHMENTS, { name: NAME, subresource: 'status' }, { status: attachStatus })

  const expectedSpec = { volumeName: `${NAME}-csi`, volumeAttributesClassName: NAME }
  await api.create(PERSISTENT_VOLUME_CLAIMS, claim('default', NAME, expectedSpec))
  const status = {
    phase: 'Bound',
    capacity: { storage: '1536Mi' },
    allocatedResources: { storage: '2Gi' },
    allocatedResourceStatuses: { storage: 'NodeResizePending' },
    conditions: [{ type: 'Resizing', status: 'True', lastTransitionTime: '2026-11-22T12:00:00Z', message: 'm' }],
    currentVolumeAttributesClassName: '',
    modifyVolumeStatus: { status: 'Pending', targetVolumeAttributesClassName: NAME },
  }
  await api.merge(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: NAME, subresource: 'status' }, { status })

  await api.create(CSI_NODES, csiNode(NAME, { [DRIVER]: 'id', 'other.example.com': 'other' }))
  await api.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: NAME, labels: { zone: 'east' } } })
  await api.create(VOLUME_ATTRIBUTES_CLASSES, attributesClass(NAME, DRIVER, { iops: '1', empty: '' }))
  const volumes = [
    { name: 'data', persistentVolumeClaim: { claimName: NAME } },
    { name: 'none', emptyDir: {} },
  ]
  await api.create(PODS, pod('default', NAME, volumes))
}

async function clear({ api }: Cluster): Promise<void> {
  const resources: readonly Resource<KubeObject>[] = KINDS.map(({ resource }) => resource)
  for (const resource of resources) {
    for (const { metadata } of await api.list(resource)) {
      const { name = '', namespace } = metadata ?? {}
      if (!name.startsWith(NAME)) continue
      await api.merge(resource, { name, namespace }, { metadata: { finalizers: null } })
      await api.delete(resource, { name, namespace })
    }
  }
}

const KINDS = [
  kind(PERSISTENT_VOLUMES, PERSISTENT_VOLUME_MESSAGE),
  kind(VOLUME_ATTACHMENTS, VOLUME_ATTACHMENT_MESSAGE),
  kind(PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUME_CLAIM_MESSAGE),
  kind(CSI_NODES, CSI_NODE_MESSAGE),
  kind(NODES, NODE_MESSAGE),
  kind(VOLUME_ATTRIBUTES_CLASSES, VOLUME_ATTRIBUTES_CLASS_MESSAGE),
  kind(PODS, POD_MESSAGE),
]

function kind<T extends KubeObject>(resource: Resource<T>, message: MessageReader<T>) {
  return {
    resource,
    /** Checks that lists and watches in protobuf deliver the same objects as JSON, with no field missing. */
    compare: async (client: KubeClient): Promise<void> => {
      const json = await listed(client, resource, undefined)
      for (const messages of [await listed(client, resource, message), await watched(client, resource, message)]) {
        equal([...messages.keys()].sort(), [...json.keys()].sort())
        for (const [name, object] of messages) {
          equal(isMessage(object), true, 'it came as JSON')
          equal(plain(object), onlyFieldsOf(object, json.get(name)))
        }
      }
    },
  }
}

type Named<T> = ReadonlyMap<string, T>

function nameOf({ metadata }: KubeObject): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`
}

async function listed<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  message: MessageReader<T> | undefined,
): Promise<Named<T>> {
  const found = new Map<string, T>()
  const project = (object: T): void => void found.set(nameOf(object), object)
  for await (const _ of client.list(resource, { message, project }));
  return found
}

async function watched<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  message: MessageReader<T>,
): Promise<Named<T>> {
  const found = new Map<string, T>()
  const onChange = ({ object }: { readonly object: T }): void => void found.set(nameOf(object), object)
  for await (const frame of client.watch(resource, { message, sendInitialEvents: true, onChange })) {
    if (frame.type === 'BOOKMARK' && frame.initialEventsEnd) return found
    if (frame.type === 'END') throw new Error(`the watch ended: ${frame.why} ${frame.error?.message ?? ''}`)
  }
  return found
}

/** Reports whether an object was read as protobuf: only then can it have undefined fields or lack a creation time. */
function isMessage({ metadata = {} }: KubeObject): boolean {
  return !('creationTimestamp' in metadata) || Object.values(metadata).includes(undefined)
}

/** Returns the value without undefined fields, which JSON cannot contain. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

/** Returns the JSON without the fields that the message lacks. A null stays only if it is also null in the message. */
function onlyFieldsOf(message: unknown, json: unknown): unknown {
  if (Array.isArray(message) && Array.isArray(json)) return json.map((item, at) => onlyFieldsOf(message[at], item))
  if (!isJsonObject(message) || !isJsonObject(json)) return json
  const fields = Object.keys(message).filter((name) => json[name] !== undefined && json[name] !== null)
  const nulls = Object.keys(message).filter((name) => json[name] === null && message[name] === null)
  return Object.fromEntries([...fields, ...nulls].map((name) => [name, onlyFieldsOf(message[name], json[name])]))
}

const sameObjects: Check['run'] = async ({ cluster, folder }) => {
  requireInRelease('volumeattributesclasses', cluster.minor)
  await populate(cluster)
  const { url, ca, adminToken: token } = cluster
  const kubeconfig = join(folder, 'kubeconfig.json')
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(url, ca, { token })))
  const options = { clock: systemClock, log: silentLogger, env: {} }
  const config = await loadClusterConfig({ kubeconfig, ...options })
  const client = createKubeClient({ config, flow: flowOptions({}), userAgent: 'e2e', ...options })
  try {
    for (const { compare } of KINDS) await compare(client)
  } finally {
    client.close()
    await clear(cluster)
  }
}

for (const [server, target] of [
  ['a real', 'real'],
  ['the emulated', 'emulator'],
] as const) {
  const how = { target, alone: 'cluster' } as const
  check(`protobuf: ${server} API server returns the same objects as protobuf and as JSON`, how, sameObjects)
}
