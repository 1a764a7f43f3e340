import { createHash } from 'node:crypto'

/** How Kubernetes names CSI volumes and what belongs to them; other programs find things by these names. */

export interface CsiVolumeId {
  readonly driver: string
  readonly volumeHandle: string
}

const CSI_PREFIX = 'kubernetes.io/csi/'

/** The name of a volume in node statuses: `kubernetes.io/csi/<driver>^<handle>`. */
export function uniqueVolumeName({ driver, volumeHandle }: CsiVolumeId): string {
  return `${CSI_PREFIX}${driver}^${volumeHandle}`
}

/** The volume behind such a name; undefined for one that is not CSI's. */
export function csiVolumeOf(volumeName: string): CsiVolumeId | undefined {
  const caret = volumeName.indexOf('^')
  if (!volumeName.startsWith(CSI_PREFIX) || caret < 0) return undefined
  return { driver: volumeName.slice(CSI_PREFIX.length, caret), volumeHandle: volumeName.slice(caret + 1) }
}

/** The name of the VolumeAttachment of a volume and a node. */
export function attachmentName({ driver, volumeHandle }: CsiVolumeId, nodeName: string): string {
  return `csi-${sha256(`${volumeHandle}${driver}${nodeName}`)}`
}

/** The handle of a volume that a pod declares itself. */
export function ephemeralHandle(podUid: string, volume: string): string {
  return `csi-${sha256(`${podUid}${volume}`)}`
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
