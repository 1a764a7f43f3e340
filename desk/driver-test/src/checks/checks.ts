/** The promises of a CSI driver that the test checks. Each has a name and a sentence for reports. */
export const CHECKS = {
  idempotence: 'Calls are idempotent: a repeated call succeeds again',
  oneVolume: 'The same name gives the same volume',
  named: 'A created volume has an id',
  context: 'The publish context of an attachment stays the same',
  capacity: 'A volume has the requested size',
  reach: 'A volume can be reached from the requested topology',
  content: 'A clone names its source',
  kept: 'Volumes, snapshots and attachments exist until their deletion is requested',
  ended: 'Detached volumes and deleted objects are no longer listed',
  placed: 'What was published is at its path, and what was unpublished is not',
  data: 'What was written to a volume stays, and is in its clone',
  readOnly: 'A read-only mount refuses writes',
  options: 'A volume is mounted with the requested options and group',
  snapshots: 'A snapshot can be created, listed, restored and deleted, each repeatedly',
  usage: 'A mounted volume reports its usage',
  listed: 'A driver with LIST_VOLUMES or LIST_SNAPSHOTS lists what it has',
  oneNode: 'A volume for one node is published to one',
  inUse: 'A published volume is not deleted',
  strict: 'A request that no cluster sends gets the code that CSI requires',
  noLeak: 'No volume, snapshot or mount is left after the deletion of everything',
  converges: 'All requests converge after the last fault',
  alive: 'The driver ends only when it is asked to',
} as const

export type CheckName = keyof typeof CHECKS

/** The sections of the CSI specification on which each check rests. */
export const SECTIONS: Readonly<Record<CheckName, readonly string[]>> = {
  idempotence: ['Timeouts', 'Error Scheme'],
  oneVolume: ['CreateVolume'],
  named: ['CreateVolume'],
  context: ['ControllerPublishVolume'],
  capacity: ['CreateVolume', 'ControllerExpandVolume'],
  reach: ['CreateVolume'],
  content: ['CreateVolume'],
  kept: ['ListVolumes', 'ListSnapshots'],
  ended: ['DeleteVolume', 'DeleteSnapshot', 'ControllerUnpublishVolume'],
  placed: ['NodePublishVolume', 'NodeUnpublishVolume'],
  data: ['Volume Lifecycle', 'CreateVolume'],
  readOnly: ['NodePublishVolume'],
  options: ['NodeStageVolume', 'NodePublishVolume'],
  snapshots: ['CreateSnapshot', 'DeleteSnapshot', 'ListSnapshots'],
  usage: ['NodeGetVolumeStats'],
  listed: ['ListVolumes', 'ListSnapshots'],
  oneNode: ['ControllerPublishVolume'],
  inUse: ['DeleteVolume'],
  strict: ['Error Scheme'],
  noLeak: ['DeleteVolume', 'DeleteSnapshot', 'NodeUnpublishVolume'],
  converges: ['Error Scheme', 'Timeouts'],
  alive: ['Supervised Lifecycle Management'],
}

/** Returns the address of a section of the CSI specification. */
export function specificationLink(section: string): string {
  const anchor = section.toLowerCase().replaceAll(' ', '-')
  return `https://github.com/container-storage-interface/spec/blob/master/spec.md#${anchor}`
}

/** One violation of a check by the driver, as the report prints it. */
export interface Violation {
  readonly check: CheckName
  readonly text: string
  /** A text that is equal for violations with the same cause. The default is `text` without names and numbers. */
  readonly causeKey?: string
  /** The ID of the volume, or the name in CreateVolume. Undefined if the violation concerns no volume. */
  readonly subjectId: string | undefined
}
