import type { EffectiveFlags } from '../flags/check-flags.ts'
import { isOn } from '../flags/check-flags.ts'
import type { SidecarName } from '../sidecars.ts'

/** Access to one resource that a sidecar needs. */
export interface NeededRight {
  readonly group: string
  readonly resource: string
  readonly verbs: readonly string[]
  /** The namespace of the access. Undefined: all namespaces, or a resource without namespaces. */
  readonly namespace: string | undefined
  /** The reason for which some installations need it. Undefined: the sidecar does not work without it. */
  readonly onlyFor: string | undefined
}

/** The place of the pod that needs the permissions. */
export interface RightsContext {
  /** The namespace of the pod, in which the Leases are unless a flag names another one. */
  readonly namespace: string
}

const READ = ['get', 'list', 'watch']
const STORAGE = 'storage.k8s.io'
const SNAPSHOT = 'snapshot.storage.k8s.io'
const FOR_NODE_CHECKS = 'claims whose selected node has no driver'
const GROUP_SNAPSHOT = 'groupsnapshot.storage.k8s.io'

/** Returns the rights that our sidecar needs with these flags. The rights of Secrets depend on classes: `secrets.ts`. */
export function neededRights(
  sidecar: SidecarName,
  flags: EffectiveFlags,
  { namespace }: RightsContext,
): readonly NeededRight[] {
  if (sidecar === 'livenessprobe') return []
  const events = right('', 'events', ['create', 'patch'], 'events')
  return [...OF_SIDECAR[sidecar](flags, namespace), events, ...leaseRights(flags, namespace)]
}

type Needs = (flags: EffectiveFlags, namespace: string) => readonly NeededRight[]

const OF_SIDECAR: Readonly<Record<Exclude<SidecarName, 'livenessprobe'>, Needs>> = {
  attacher: () => [
    right('', 'persistentvolumes', [...READ, 'patch']),
    right(STORAGE, 'csinodes', READ),
    right(STORAGE, 'volumeattachments', [...READ, 'patch']),
    right(STORAGE, 'volumeattachments/status', ['patch']),
  ],
  resizer: (flags) => [
    right('', 'persistentvolumes', [...READ, 'patch']),
    right('', 'persistentvolumeclaims', READ),
    right('', 'persistentvolumeclaims/status', ['patch']),
    ...when(
      isOn(flags, 'handle-volume-inuse-error', true),
      right('', 'pods', READ, 'drivers that refuse to expand a volume in use'),
    ),
    ...when(flags.gates.get('VolumeAttributesClass') !== false, attributesClasses(READ)),
    ...when(isOn(flags, 'node-deployment', false), right('', 'nodes', READ), right(STORAGE, 'csinodes', READ)),
  ],
  provisioner: (flags, namespace) => [
    right('', 'persistentvolumes', [...READ, 'create', 'patch', 'delete']),
    right('', 'persistentvolumeclaims', [...READ, 'update']),
    right(STORAGE, 'storageclasses', READ),
    ...when(readsNodes(flags), right('', 'nodes', READ), right(STORAGE, 'csinodes', READ)),
    ...when(
      checksNodes(flags),
      right('', 'nodes', ['get'], FOR_NODE_CHECKS),
      right(STORAGE, 'csinodes', ['get'], FOR_NODE_CHECKS),
    ),
    right(STORAGE, 'volumeattachments', READ, 'drivers that attach volumes'),
    ...when(flags.gates.get('VolumeAttributesClass') !== false, attributesClasses(['get'])),
    right(SNAPSHOT, 'volumesnapshots', [...READ, 'update'], 'restores from snapshots'),
    right(SNAPSHOT, 'volumesnapshotcontents', ['get', 'list'], 'restores from snapshots'),
    ...when(isOn(flags, 'enable-capacity', false), ...capacityRights(flags, namespace)),
  ],
  snapshotter: (flags) => [
    ...snapshotRights(SNAPSHOT, 'volumesnapshot'),
    ...when(
      flags.gates.get('CSIVolumeGroupSnapshot') !== false,
      ...snapshotRights(GROUP_SNAPSHOT, 'volumegroupsnapshot', 'drivers with group snapshots'),
    ),
  ],
}

/** On each node, the driver itself names the topology. */
function readsNodes(flags: EffectiveFlags): boolean {
  if (isOn(flags, 'node-deployment', false)) return false
  return flags.gates.get('Topology') !== false || isOn(flags, 'enable-capacity', false)
}

/** On each node, claims of nodes without the driver are given back to the scheduler. */
function checksNodes(flags: EffectiveFlags): boolean {
  return isOn(flags, 'node-deployment', false) && isOn(flags, 'finalize-claims', false)
}

function capacityRights(flags: EffectiveFlags, namespace: string): readonly NeededRight[] {
  const level = Number(flags.values.get('capacity-ownerref-level') ?? '1')
  const verbs = [...READ, 'create', 'update', 'delete']
  return [
    { ...right(STORAGE, 'csistoragecapacities', verbs), namespace },
    ...when(level >= 0, { ...right('', 'pods', ['get']), namespace }),
    ...when(level >= 2, { ...right('apps', 'replicasets', ['get']), namespace }),
  ]
}

function snapshotRights(group: string, kind: string, onlyFor?: string): readonly NeededRight[] {
  return [
    right(group, `${kind}contents`, [...READ, 'patch'], onlyFor),
    right(group, `${kind}contents/status`, ['patch'], onlyFor),
    right(group, `${kind}classes`, ['list', 'watch'], onlyFor),
  ]
}

function leaseRights(flags: EffectiveFlags, podNamespace: string): readonly NeededRight[] {
  if (!isOn(flags, 'leader-election', false)) return []
  const leaseNamespace = flags.values.get('leader-election-namespace') ?? ''
  // A value such as $(NAMESPACE) is known only in the pod, and is the namespace of the pod in all public manifests.
  const namespace = leaseNamespace === '' || leaseNamespace.includes('$(') ? podNamespace : leaseNamespace
  return [
    { ...right('coordination.k8s.io', 'leases', ['get', 'create', 'update']), namespace },
    {
      ...right('coordination.k8s.io', 'leases', ['watch'], 'a standby that sees at once that the lease is free'),
      namespace,
    },
  ]
}

function attributesClasses(verbs: readonly string[]): NeededRight {
  return right(STORAGE, 'volumeattributesclasses', verbs, 'claims with a VolumeAttributesClass')
}

// biome-ignore lint/complexity/useMaxParams: one line of a table, as in docs/reference.md.
function right(group: string, resource: string, verbs: readonly string[], onlyFor?: string): NeededRight {
  return { group, resource, verbs, namespace: undefined, onlyFor }
}

function when<T>(condition: boolean, ...values: readonly T[]): readonly T[] {
  return condition ? values : []
}
