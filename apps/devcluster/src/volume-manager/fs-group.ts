import type { DriverSource, PodMount } from './desired-state.ts'

/** Who sees to it that a volume belongs to the pod's group. */
export type GroupsBy = 'driver' | 'node' | 'nobody'

export interface FsGroupView {
  readonly source: DriverSource
  readonly pod: Pick<PodMount, 'fsGroup' | 'readOnly'>
  /** Of the CSIDriver. */
  readonly policy: string
  /** The driver's node service has VOLUME_MOUNT_GROUP. */
  readonly driverMayDo: boolean
}

const SINGLE_WRITER: readonly string[] = ['ReadWriteOnce', 'ReadWriteOncePod']

/** A driver that can do it is told the group, whatever its policy; for any other the node does it where the policy lets it. */
export function groupsBy({ source, pod, policy, driverMayDo }: FsGroupView): GroupsBy {
  if (pod.fsGroup === undefined || (source.is === 'csi' && source.block)) return 'nobody'
  if (driverMayDo) return 'driver'
  if (policy === 'None' || pod.readOnly) return 'nobody'
  if (policy === 'File') return 'node'
  const fsType = source.is === 'csi' ? source.csi.fsType : source.source.fsType
  if (!fsType) return 'nobody'
  // What a pod declares itself is always for one node.
  if (source.is === 'ephemeral') return 'node'
  return source.accessModes.some((mode) => SINGLE_WRITER.includes(mode)) ? 'node' : 'nobody'
}
