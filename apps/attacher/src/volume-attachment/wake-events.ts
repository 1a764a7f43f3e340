import type { WakeEvent } from '@csi-sidecars/controller'

/**
 * The events that attachments wait for: a PersistentVolume that is created or gets other access modes, the deletion of a
 * PersistentVolume, the registration of the driver on a node, and the end of an unpublish of a volume.
 */
export type AttachmentWakeKind = 'volume' | 'volumeGone' | 'node' | 'unpublish'

export type AttachmentWakeEvent<K extends AttachmentWakeKind = AttachmentWakeKind> = WakeEvent<K>
