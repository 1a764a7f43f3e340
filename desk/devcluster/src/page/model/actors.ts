import type { LiveCall } from '@csi-sidecars/disturb'

/** The components that act on volumes, by ID. In addition each node has a kubelet with the ID `kubelet/NODE`. */
export const ACTORS = {
  you: { name: 'you', does: 'create, change and delete objects' },
  scheduler: { name: 'kube-scheduler', does: 'chooses a node for each pod' },
  'persistent-volume': { name: 'PV controller', does: 'binds claims to volumes' },
  'csi-provisioner': { name: 'csi-provisioner', does: 'creates and deletes volumes' },
  'attach-detach': { name: 'attach/detach controller', does: 'asks for volumes on the nodes of their pods' },
  'csi-attacher': { name: 'csi-attacher', does: 'attaches and detaches volumes' },
  'csi-resizer': { name: 'csi-resizer', does: 'expands and modifies volumes' },
  'snapshot-controller': { name: 'snapshot-controller', does: 'binds snapshots to contents' },
  'csi-snapshotter': { name: 'csi-snapshotter', does: 'takes and deletes snapshots' },
  driver: { name: 'CSI driver', does: 'answers the calls of all others' },
} as const

export type ActorId = keyof typeof ACTORS | `kubelet/${string}`

export function kubeletOf(node: string): ActorId {
  return `kubelet/${node}`
}

const CALLERS: Readonly<Record<string, ActorId>> = {
  CreateVolume: 'csi-provisioner',
  DeleteVolume: 'csi-provisioner',
  GetCapacity: 'csi-provisioner',
  CreateSnapshot: 'csi-snapshotter',
  DeleteSnapshot: 'csi-snapshotter',
  ListSnapshots: 'csi-snapshotter',
  GetSnapshot: 'csi-snapshotter',
  ControllerPublishVolume: 'csi-attacher',
  ControllerUnpublishVolume: 'csi-attacher',
  ListVolumes: 'csi-attacher',
  ControllerGetVolume: 'csi-attacher',
  ControllerExpandVolume: 'csi-resizer',
  ControllerModifyVolume: 'csi-resizer',
}
const NODE_CALLS: ReadonlySet<string> = new Set([
  'NodeStageVolume',
  'NodeUnstageVolume',
  'NodePublishVolume',
  'NodeUnpublishVolume',
  'NodeExpandVolume',
  'NodeGetVolumeStats',
])
const PATHS = ['targetPath', 'stagingTargetPath', 'volumePath', 'stagingPath'] as const

type Call = Pick<LiveCall, 'method' | 'request'>

/** Returns the actor that sends a CSI call. Undefined for calls that every client sends, such as GetPluginInfo. */
export function callerOf(call: Call, isNode: (name: string) => boolean): ActorId | undefined {
  if (!NODE_CALLS.has(call.method)) return CALLERS[call.method]
  const node = nodeOf(call, isNode)
  return node === undefined ? undefined : kubeletOf(node)
}

/** Returns the node whose name is part of a path in the request. The folder of each kubelet is named after its node. */
function nodeOf({ request }: Call, isNode: (name: string) => boolean): string | undefined {
  for (const field of PATHS) {
    const path = request[field]
    const node = typeof path === 'string' ? path.split('/').find(isNode) : undefined
    if (node !== undefined) return node
  }
  return undefined
}

const COMPONENTS: ReadonlyMap<string, ActorId> = new Map([
  ['default-scheduler', 'scheduler'],
  ['persistentvolume-controller', 'persistent-volume'],
  ['attachdetach-controller', 'attach-detach'],
])

/** Returns the actor for the component that has recorded an event. An unknown component becomes an actor itself. */
export function actorOfComponent(
  component: string,
  subject: { readonly driver: string; readonly node: string },
): string {
  if (component === 'kubelet' && subject.node !== '') return kubeletOf(subject.node)
  if (component.startsWith('external-resizer')) return 'csi-resizer'
  if (component.startsWith('external-attacher')) return 'csi-attacher'
  // The provisioner records events under a component name that starts with the driver's name.
  if (component.startsWith(`${subject.driver}_`)) return 'csi-provisioner'
  return COMPONENTS.get(component) ?? (component === '' ? 'unknown' : component)
}
