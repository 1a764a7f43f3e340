/** The event that each claim may wait for: the creation or a change of its PersistentVolume. */
export type ResizerWakeKind = 'volume'

/** The events that a modification waits for: a change of its PersistentVolume or of its VolumeAttributesClass. */
export type ModifyWakeKind = ResizerWakeKind | 'class'
