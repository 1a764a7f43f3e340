/** A difference between our sidecars and the newest Go sidecars that users can see. */
export interface Difference {
  /** What our sidecar does. Markdown. */
  readonly ours: string
  /** The setting that restores the behaviour of the Go sidecar. Markdown. Undefined if there is none. */
  readonly setting?: string
}

/** The intended differences. The rows of the end-to-end tests name them, and docs/reference.md lists them. */
export const DIFFERENCES = {
  'standby-after-lease-loss': {
    ours: 'A process that loses its lease becomes a standby',
    setting: '`--on-lease-loss=exit`',
  },
  'waits-for-lost-driver': {
    ours: 'The process waits for a lost driver, and then checks that it is the same one',
    setting: '`--on-driver-loss=exit`',
  },
  'releases-lease-at-end': {
    ours: 'On SIGTERM running calls end, then the process releases the lease',
    setting: '`--feature-gates=ReleaseLeaderElectionOnExit=false`',
  },
  'confirmed-reconcile': {
    ours: 'Two listings in a row must disagree before an attachment is corrected',
    setting: '`--reconcile-confirmations=1`',
  },
  'adaptive-requests': {
    ours: 'As many requests run at a time as the API server grants',
    setting: '`--kube-api-qps=5 --kube-api-burst=10`',
  },
  'workers-for-new-attaches': {
    ours: 'If detaches or retried attaches occupy all workers, new attaches start in addition: at most 40 % of `--worker-threads`, and at least one if there are 2 workers or more',
    setting:
      '`--worker-threads=1` adds none. If the back end supports 7 calls at a time, `--worker-threads=5` stays within them',
  },
  'workers-for-new-claims': {
    ours: 'If retried claims occupy all `--workers` of the resizer, other claims start in addition, within the same limits',
    setting: '`--workers=1`, or `--workers=5` for a back end that supports 7 calls at a time',
  },
  'events-of-attacher': {
    ours: 'Repeated failures of attaches and detaches cause events. If the role lacks them, one line says so',
    setting: 'leave `events` out of the role',
  },
  'unreferenced-check': {
    ours: 'The leaders of provisioner and snapshotter call ListVolumes or ListSnapshots five minutes after they start to lead, and then once an hour, to find [volumes that no object names](operations.md#volumes-that-no-object-names)',
    setting: '`--unreferenced-check-interval=0`',
  },
  'one-call-for-volume-and-node': {
    ours: 'For each volume and node one call runs at a time. A volume that only one node may use is published to one node at a time, after its detaches have ended',
  },
  'unpublishes-without-finalizer': {
    ours: 'If a VolumeAttachment is deleted without a detach, because its finalizer was removed by hand, the process that published the volume unpublishes it',
  },
  'fewer-calls-at-limits': {
    ours: 'If the calls of many claims, volumes or snapshots end as ResourceExhausted, DeadlineExceeded or Aborted, fewer of them run at once, and more again when calls succeed. `--worker-threads` stays the upper bound',
  },
  'pods-read-after-refusal': { ours: 'Pods are read only after a driver has refused to expand a volume in use' },
  'results-of-own-call': {
    ours: 'A result is written only to the volume and claim of the call. Conditions and keys of other writers stay',
  },
  'finalizer-by-json-patch': {
    ours: 'Our finalizer on VolumeAttachments is changed by JSON patches with `test` operations. After a change by another writer the sidecar reads and patches again, without an error in the status',
  },
  'back-off-after-listing': {
    ours: 'A failed attach or detach that a listing has caused is retried after its back-off, not with the next listing',
  },
  'attach-error-removed-by-listing': {
    ours: 'If a listing confirms an attachment, the `attachError` next to `attached: true` is removed',
  },
  'finalizer-restored': {
    ours: 'If another writer removes our finalizer from an attached VolumeAttachment, or from a PersistentVolume that attachments use, it is restored. It is not restored if it was missing when this process first saw the object',
  },
  'repeated-reverts': {
    ours: 'If another writer repeatedly reverts `attached` or our finalizer, it is written again after a back-off',
  },
  'idle-objects-not-queued': {
    ours: 'Objects without pending work are not queued at a start or at a resync, so `workqueue_adds_total` is lower. The comparison with `ListVolumes` still covers each attachment',
  },
  'retry-when-cause-is-gone': { ours: 'Failed work is retried when its cause is gone' },
  'expands-to-request': {
    ours: 'A claim is expanded to its request, even if an administrator has edited the capacity of its PersistentVolume to more',
  },
  'listing-limit': { ours: 'A listing of volumes that has not ended after five minutes is cancelled, with one line' },
  'class-of-other-driver': {
    ours: 'A VolumeAttributesClass of another driver is applied. An event of the claim and a line of the log name both drivers',
  },
  'deletes-volume-without-in-tree-form': {
    ours: 'A new volume of an in-tree class that has no in-tree form is deleted',
  },
  'attributes-class-with-in-tree-class': {
    ours: 'A claim with a VolumeAttributesClass and a StorageClass of an in-tree plugin causes no CreateVolume, because the API server refuses its PersistentVolume. The event `ProvisioningFailed` names both classes',
  },
  'status-after-detach': {
    ours: 'If the API server refuses the status of a VolumeAttachment that is detached, the write is repeated, and no `detachError` stays',
  },
  'changed-before-retried': {
    ours: 'Changed objects come before retried ones. Beyond the first 500, at most 100 objects a second are retried',
  },
  'repeated-failures-wait': {
    ours: 'Two kinds of writes wait up to ten seconds for other requests: the error of a repeated failure, and the status of a claim that is retried',
  },
  'detach-waits-for-volume': {
    ours: 'A detach whose PersistentVolume is gone is not retried until a PersistentVolume of that name exists, or until `--resync`',
  },
  'size-of-zero': {
    ours: 'If the driver answers an expansion with a size of 0, the expansion has failed with a condition',
  },
  'annotated-before-call': {
    ours: 'A snapshot content gets the annotation `volumesnapshot-being-created` right before the call of the driver, after all checks of the request',
  },
  'event-of-missing-modify-secret': {
    ours: 'An event of the claim reports a missing Secret of a modification',
  },
  'event-of-volume-of-another-claim': {
    ours: 'An event of the claim reports that its PersistentVolume is bound to another claim',
  },
  'event-of-refused-volume': {
    ours: 'An event of the claim reports that the API server refuses its PersistentVolume',
  },
  'finalizer-until-restored': {
    ours: 'A VolumeSnapshot keeps the finalizer of the provisioner until the PersistentVolume is stored, and until the last of several restores has ended',
  },
  'repeated-events': {
    ours: 'The provisioner repeats an event with the same message about a claim or a PersistentVolume at most once in 15 minutes',
  },
  'long-errors-stored': {
    ours: 'An error of more than 1024 bytes is stored in the VolumeAttachment, cut to this length. The API server refuses the longer one of the Go sidecar',
  },
  'secrets-stripped': {
    ours: "If a driver's error message contains a value of the call's secrets, of six characters or more, `***stripped***` replaces it",
  },
  'long-waits': {
    ours: 'A request fails if the API server asks it to wait for more than 30 s. Its work is retried after that time, at most after `--retry-interval-max`',
  },
  'silent-watches': {
    ours: 'If a watch has had no data for 45 s, it is resumed on a new connection, at most once a minute',
  },
  'dead-connections': {
    ours: 'Without leader election, a dead connection is detected by `GET /version`, which is sent after 16 seconds without another answer',
  },
  'command-line-help': {
    ours: 'The reason why a command line is refused is printed before the help, and again after it with the nearest flag',
  },
} as const satisfies Readonly<Record<string, Difference>>

export type DifferenceName = keyof typeof DIFFERENCES
