import { createHash } from 'node:crypto'

/** The names of CSI volumes and their objects in Kubernetes. Other programs rely on these names. */

export interface CsiVolumeId {
  readonly driver: string
  readonly volumeHandle: string
}

const CSI_PREFIX = 'kubernetes.io/csi/'

/** Returns the name of a volume in node statuses: `kubernetes.io/csi/<driver>^<handle>`. */
export function uniqueVolumeName({ driver, volumeHandle }: CsiVolumeId): string {
  return `${CSI_PREFIX}${driver}^${volumeHandle}`
}

/** Returns the driver and the handle in a volume name from a node status. Undefined if the volume is no CSI volume. */
export function csiVolumeOf(volumeName: string): CsiVolumeId | undefined {
  const caret = volumeName.indexOf('^')
  if (!volumeName.startsWith(CSI_PREFIX) || caret < 0) return undefined
  return { driver: volumeName.slice(CSI_PREFIX.length, caret), volumeHandle: volumeName.slice(caret + 1) }
}

/** Returns the name of the VolumeAttachment of a volume and a node. */
export function attachmentName({ driver, volumeHandle }: CsiVolumeId, nodeName: string): string {
  return `csi-${sha256(`${volumeHandle}${driver}${nodeName}`)}`
}

/** Returns the handle of a CSI volume that a pod declares inline. */
export function ephemeralHandle(podUid: string, volume: string): string {
  return `csi-${sha256(`${podUid}${volume}`)}`
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
