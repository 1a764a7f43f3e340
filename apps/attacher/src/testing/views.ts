import type { PersistentVolume } from '@csi-sidecars/kube-types'
import type { Attachment } from '../caches/attachment.ts'
import { type Volume, volumeProjection } from '../caches/volume.ts'
import { finalizerName } from '../term/deps.ts'
import type { AttachmentView } from '../volume-attachment/observe.ts'

export const DRIVER = 'csi.example.com'
export const FINALIZER = finalizerName(DRIVER)

/** An attachment of our driver of volume pv1 on node1, as it is right after its creation. */
export function attachment(change: Partial<Attachment> = {}): Attachment {
  return {
    key: 'va1',
    resourceVersion: '1',
    uid: 'va1-uid',
    ours: true,
    pvName: 'pv1',
    inlineSpec: undefined,
    nodeName: 'node1',
    deleting: false,
    dueSeconds: undefined,
    finalizers: undefined,
    annotated: false,
    nodeId: undefined,
    remembered: undefined,
    attached: false,
    metadata: undefined,
    attachError: undefined,
    detachError: undefined,
    rest: '',
    ...change,
  }
}

/** The same with finalizer and node id stored. */
export function withFinalizer(change: Partial<Attachment> = {}): Attachment {
  return attachment({ finalizers: [FINALIZER], annotated: true, nodeId: 'node1-id', ...change })
}

export const csi = (source: object = {}): NonNullable<NonNullable<PersistentVolume['spec']>['csi']> => ({
  driver: DRIVER,
  volumeHandle: 'handle-1',
  ...source,
})

/** Volume pv1 as the cache keeps it, made from what the API would send. */
export function volume(spec: PersistentVolume['spec'] = {}, metadata: PersistentVolume['metadata'] = {}): Volume {
  return volumeProjection(DRIVER)({
    metadata: { name: 'pv1', uid: 'pv1-uid', resourceVersion: '1', finalizers: [FINALIZER], ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], ...(hasSource(spec) ? {} : { csi: csi() }), ...spec },
  })
}

function hasSource(spec: PersistentVolume['spec']): boolean {
  const plain = ['accessModes', 'mountOptions', 'volumeMode', 'capacity']
  return Object.keys(spec ?? {}).some((key) => !plain.includes(key))
}

export function view(change: Partial<AttachmentView> = {}): AttachmentView {
  return {
    va: attachment(),
    volume: { from: 'pv', name: 'pv1', pv: volume() },
    node: { known: 'id', nodeId: 'node1-id' },
    forced: false,
    confirmed: false,
    stripped: false,
    statusPending: false,
    published: [],
    lostDetached: false,
    capabilities: { publishReadonly: false, singleNodeMultiWriter: false },
    settings: { driverName: DRIVER, finalizer: FINALIZER, defaultFsType: '', recoverLostVolumes: false },
    ...change,
  }
}

export const ofPv = (pv: Volume | undefined): AttachmentView['volume'] => ({ from: 'pv', name: 'pv1', pv })
