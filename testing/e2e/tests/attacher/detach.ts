import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { Fault } from '../../harness/api/wire.ts'
import { ETCD_TIRED } from '../../harness/api/write-faults.ts'
import type { TestContext } from '../../harness/context.ts'
import {
  called,
  deleted,
  failure,
  killed,
  merged,
  OK,
  refusing,
  secretCreated,
  withoutFinalizers,
} from '../../rows/actions.ts'
import {
  attach,
  attacherRows,
  attachmentCreated,
  detach,
  started,
  volumeCreated,
  WITH_SECRET,
} from '../../rows/attacher/rows.ts'
import { finalizerOf, NODE_ID_ANNOTATION } from '../../rows/attacher/scene.ts'

const row = attacherRows('detach', import.meta.filename)

/** A foreign finalizer keeps the VolumeAttachment after the detach. */
const WITH_FINALIZER = { va: { metadata: { finalizers: ['example.com/a'] } } }
const QUICK = { args: ['--retry-interval-start=200ms'] }
const PUBLISH_FAILS = { answers: { ControllerPublishVolume: [failure(13)] } }

row('a detach unpublishes, then removes the finalizer, and the VolumeAttachment is deleted', {
  steps: [attach(), detach],
})
row('a detached VolumeAttachment with a foreign finalizer loses our finalizer and its attachmentMetadata', {
  setup: { answers: { ControllerPublishVolume: [{ reply: { publishContext: { a: 'b' } } }] } },
  steps: [attach(WITH_FINALIZER), detach],
})
row('the ControllerUnpublishVolume request contains the data of the secret', {
  steps: [secretCreated({ key: 'value' }), attach(WITH_SECRET), detach],
})
row('a detach uses the node ID in the annotation if the CSINode is missing', {
  steps: [attach(), deleted(CSI_NODES, 'node'), detach],
})
row('a detach prefers the node ID in the CSINode to the node ID in the annotation', {
  steps: [
    attach(),
    merged(VOLUME_ATTACHMENTS, 'va', { metadata: { annotations: { [NODE_ID_ANNOTATION]: 'wrong' } } }),
    detach,
  ],
})
row('a deleted VolumeAttachment is unpublished if its attach failed after our finalizer was added', {
  setup: PUBLISH_FAILS,
  steps: [attach(), detach],
})
row('a deleted VolumeAttachment is not unpublished if its attach failed before our finalizer was added', {
  steps: [attach({ node: 'nowhere' }), detach],
})
row('a deleted VolumeAttachment without our finalizer causes no unpublish, even if it is still attached', {
  steps: [
    attach(WITH_FINALIZER),
    // A running attacher restores the finalizer.
    killed,
    merged(VOLUME_ATTACHMENTS, 'va', { metadata: { finalizers: ['example.com/a'] } }),
    started,
    detach,
  ],
})
row('a VolumeAttachment that is deleted during its publish is unpublished after the publish has ended', {
  setup: { answers: { ControllerPublishVolume: [{ reply: {}, after: 1500 }] } },
  steps: [[attach(), called('ControllerPublishVolume'), detach]],
})
row('a VolumeAttachment that was deleted while no attacher ran is unpublished at the start', {
  steps: [attach(), killed, detach, started],
})
row('a new VolumeAttachment of the same volume and node is published after the detach of the old VolumeAttachment', {
  steps: [attach(), detach, attachmentCreated()],
})
row('a detach fails with a detachError if the CSINode and the node ID annotation are missing', {
  steps: [
    attach(),
    merged(VOLUME_ATTACHMENTS, 'va', { metadata: { annotations: null } }),
    deleted(CSI_NODES, 'node'),
    detach,
  ],
})
row('a missing PV blocks the detach, and detachError shows the reason', {
  setup: QUICK,
  steps: [attach(), withoutFinalizers(PERSISTENT_VOLUMES, 'pv'), detach],
})
row('with --recover-lost-volumes, a volume is detached although its PV is gone', {
  only: 'ours',
  setup: { args: ['--recover-lost-volumes'] },
  steps: [attach(), withoutFinalizers(PERSISTENT_VOLUMES, 'pv'), detach],
})
for (const [code, name] of [
  [5, 'NotFound'],
  [13, 'Internal'],
  [4, 'DeadlineExceeded'],
] as const) {
  row(`a detach that fails with ${name} stores detachError without errorCode and is retried`, {
    logs: [`err="failed to detach: rpc error: code = ${name} desc = no"`],
    setup: { ...QUICK, answers: { ControllerUnpublishVolume: [failure(code), failure(code), OK] } },
    steps: [attach(), detach],
  })
}
row('a successful retry of a detach clears detachError', {
  setup: { ...QUICK, answers: { ControllerUnpublishVolume: [failure(13), OK] } },
  steps: [attach(WITH_FINALIZER), detach],
})
row('a detach is repeated if the API server refuses the removal of our finalizer', {
  setup: { ...QUICK, answers: { ControllerUnpublishVolume: [OK, failure(5, 'it is repeated'), OK] } },
  steps: [attach(), [refusing('PATCH volumeattachments', ETCD_TIRED, { times: 1 }), detach]],
})

const failing = attacherRows('writes that fail', import.meta.filename)

failing('if the API server refuses the status after a detach, the write is retried without a second unpublish', {
  differs: ['status-after-detach'],
  setup: { ...QUICK, answers: { ControllerUnpublishVolume: [OK, failure(5, 'it is repeated')] } },
  steps: [attach(WITH_FINALIZER), [refusing('PATCH volumeattachments/status', ETCD_TIRED, { times: 1 }), detach]],
})

const pvFinalizer = attacherRows('PV finalizer', import.meta.filename)

/** A volume with our finalizer among these. */
const finalized =
  (...finalizers: readonly string[]) =>
  (t: TestContext) => ({
    metadata: { finalizers: finalizers.map((each) => (each === 'ours' ? finalizerOf(t.driverName) : each)) },
  })
const pvDeleted = deleted(PERSISTENT_VOLUMES, 'pv')

pvFinalizer('the patch that removes our finalizer from a PV keeps the other finalizers', {
  logs: ['"Removed finalizer from PersistentVolume"'],
  steps: [volumeCreated(finalized('example.com/a', 'ours', 'example.com/b')), pvDeleted],
})
pvFinalizer('a deleted PV in use loses our finalizer when its attachment is deleted', {
  steps: [attach(), pvDeleted, detach],
})
pvFinalizer('a deleted PV keeps our finalizer while a VolumeAttachment of another attacher names the PV', {
  steps: [
    volumeCreated(finalized('ours')),
    attachmentCreated({ va: { driver: 'other.example.com' } }),
    pvDeleted,
    detach,
  ],
})
pvFinalizer('a PV that was deleted while no attacher ran loses our finalizer at the start', {
  setup: { startsLater: true },
  steps: [volumeCreated(finalized('ours')), pvDeleted, started],
})
pvFinalizer('the attacher does not write a deleted PV without our finalizer', {
  steps: [volumeCreated(finalized('example.com/a', 'external-attacher/other-csi-example-com')), pvDeleted],
})
pvFinalizer('the driver name in our PV finalizer keeps its capitals and has dashes instead of dots', {
  setup: { driver: (t) => ({ name: `${t.id}-Some.CSI.example.com` }) },
  steps: [
    volumeCreated((t) => ({
      ...finalized(`external-attacher/${t.id}-Some-CSI-example-com`)(t),
      csi: { driver: `${t.id}-Some.CSI.example.com` },
    })),
    pvDeleted,
  ],
})
pvFinalizer('our finalizer is removed from a PV even if another writer edits the list of finalizers', {
  setup: { args: ['--retry-interval-start=300ms'] },
  steps: [
    volumeCreated(finalized('example.com/a', 'ours')),
    [
      // The attacher's patch is based on the old list.
      refusing('PATCH persistentvolumes', editsFinalizers, { times: 1 }),
      pvDeleted,
    ],
  ],
})
pvFinalizer('the attacher logs and retries a refused removal of our finalizer from a PV', {
  logs: ['"Failed to remove finalizer from PersistentVolume"'],
  setup: { args: ['--retry-interval-start=300ms'] },
  steps: [volumeCreated(finalized('ours')), [refusing('PATCH persistentvolumes', ETCD_TIRED, { times: 2 }), pvDeleted]],
})

/** Another writer changes the finalizers immediately before the attacher's patch. */
function editsFinalizers(t: TestContext): Fault {
  const metadata = { finalizers: [finalizerOf(t.driverName)] }
  return { kind: 'wait', for: t.api.merge(PERSISTENT_VOLUMES, { name: t.name('pv') }, { metadata }) }
}
