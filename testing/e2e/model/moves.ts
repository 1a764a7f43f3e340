/** An action of a user, of another controller or of a person with kubectl on attachments of one volume. */
export interface AttachmentMove {
  readonly of: 'attachment'
  readonly kind: keyof typeof ATTACHMENT_MOVES
  readonly index: number
  readonly node: number
}

/** The actions by name, with a description of their effect. */
export const ATTACHMENT_MOVES = {
  toggle: 'creates the attachment, or deletes it',
  move: 'deletes the attachments of the volume and creates one on the node',
  again: 'removes all finalizers of an attachment, deletes and recreates it',
  volumeAgain: 'removes all finalizers of the PersistentVolume, deletes and recreates it',
  volumeLate: 'creates the attachment before its PersistentVolume',
  foreign: 'adds a foreign finalizer to the attachment, or removes it',
  foreignOnVolume: 'adds a foreign finalizer to the PersistentVolume, or removes it',
  note: 'changes an annotation of the attachment',
  strip: "removes the attacher's finalizer from the attachment",
  stripVolume: "removes the attacher's finalizer from the PersistentVolume",
  unset: 'sets attached to false',
  lose: 'the storage system detaches a volume (with ListVolumes)',
  nodeAgain: 'deletes the attachments of the node and recreates the node with another id',
} as const

/** An action of a user, of another controller or of a person with kubectl on one claim. */
export interface ClaimMove {
  readonly of: 'claim'
  readonly kind: keyof typeof CLAIM_MOVES
  readonly index: number
  readonly amount: number
}

/** An action of a user on one claim that is to be provisioned. */
export interface ProvisionMove {
  readonly of: 'provision'
  readonly kind: keyof typeof PROVISION_MOVES
  readonly index: number
}

/** The actions by name, with a description of their effect. */
export const PROVISION_MOVES = {
  toggle: 'creates the claim, or deletes it',
  again: 'deletes the claim and creates it again',
  restore: 'deletes the claim and creates it from the snapshot, or empty if it was from the snapshot',
  classAgain: 'deletes the class and creates it again',
  inputsAgain: 'recreates the class, the Secret and the VolumeAttributesClass with other parameters',
  loseInputs: 'deletes the class, the Secret and the VolumeAttributesClass, and creates them again later',
  policy: 'changes the reclaim policy of the volume',
  strip: 'retains the released volumes and removes their finalizers in one edit, and deletes them',
  unready: 'makes the snapshot unusable',
  ready: 'makes the snapshot usable',
} as const

/** An action of a user, of the snapshot-controller or of a person with kubectl on one snapshot content. */
export interface SnapshotMove {
  readonly of: 'snapshot'
  readonly kind: keyof typeof SNAPSHOT_MOVES
  readonly index: number
}

/** The actions by name, with a description of their effect. */
export const SNAPSHOT_MOVES = {
  toggle: 'creates the content, or deletes it',
  again: 'deletes the content and creates one for a new snapshot',
  strip: 'removes the content with its finalizers and creates one for a new snapshot',
  adopt: 'removes the content with its finalizers and creates one for the same snapshot, if it was not pre-provisioned',
  keep: 'sets Retain and removes the finalizers in one write, deletes the content and creates one for a new snapshot',
  keepInTwo: 'sets Retain, then removes the finalizers, deletes the content and creates one for a new snapshot',
  retain: 'sets Retain, even if the content is being deleted',
  retainUnseen: 'deletes the content while the driver fails to delete, then delays the watch and sets Retain',
  policy: 'changes the deletion policy',
  loseInputs: 'deletes the class and the Secret',
  inputs: 'creates the class and the Secret again',
  inputsAgain: 'deletes the class and the Secret and creates them with other values',
  ready: 'lets the driver report snapshots as not ready, or as ready',
  foreign: 'adds a foreign finalizer to the content, or removes it',
  note: 'changes an annotation of the content',
} as const

/** The actions by name, with a description of their effect. */
export const CLAIM_MOVES = {
  grow: 'asks for so many GiB more',
  lower: 'asks for so many GiB less',
  modify: 'asks for another class',
  again: 'removes claim and volume, and creates both with a new handle',
  flag: 'adds a condition of another writer',
  paper: 'sets the capacity of the PersistentVolume so many GiB above the request',
  clear: 'removes the status of an expansion from the claim',
  foreign: 'adds a foreign finalizer to the claim, or removes it',
  foreignOnVolume: 'adds a foreign finalizer to the PersistentVolume, or removes it',
  note: 'changes an annotation of the claim',
} as const
