import type { PersistentVolume } from '@csi-sidecars/kube-types'
import type { CachedAttachment } from '../caches/attachment.ts'
import { type CachedVolume, volumeProjection } from '../caches/volume.ts'
import { finalizerName } from '../term/finalizer-name.ts'
import type { AttachmentView } from '../volume-attachment/observe.ts'

export const DRIVER = 'csi.example.com'
export const FINALIZER = finalizerName(DRIVER)

/** A new attachment of our driver, of volume `pv1` on `node1`. */
export function attachment(change: Partial<CachedAttachment> = {}): CachedAttachment {
  return {
    key: 'va1',
    resourceVersion: '1',
    uid: 'va1-uid',
    ours: true,
    pvName: 'pv1',
    inlineSpec: undefined,
    nodeName: 'node1',
    deleting: false,
    requestedAtSeconds: undefined,
    finalizers: undefined,
    hasAnnotations: false,
    nodeId: undefined,
    remembered: undefined,
    attached: false,
    metadata: undefined,
    attachError: undefined,
    detachError: undefined,
    otherMetadata: '',
    ...change,
  }
}

/** Attachment `va1` with our finalizer and the node ID. */
export function withFinalizer(change: Partial<CachedAttachment> = {}): CachedAttachment {
  return attachment({ finalizers: [FINALIZER], hasAnnotations: true, nodeId: 'node1-id', ...change })
}

export const csi = (source: object = {}): NonNullable<NonNullable<PersistentVolume['spec']>['csi']> => ({
  driver: DRIVER,
  volumeHandle: 'handle-1',
  ...source,
})

/** Volume `pv1` as the cache keeps it, from an object of the API server. */
export function volume(spec: PersistentVolume['spec'] = {}, metadata: PersistentVolume['metadata'] = {}): CachedVolume {
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
    volume: { kind: 'pv', name: 'pv1', pv: volume() },
    node: { kind: 'id', nodeId: 'node1-id' },
    listingDiffers: false,
    listingAgrees: false,
    finalizerRemoved: false,
    mustWriteStatus: false,
    publications: [],
    isLostVolumeDetached: false,
    capabilities: { publishReadonly: false, singleNodeMultiWriter: false },
    settings: { driverName: DRIVER, finalizer: FINALIZER, defaultFsType: '', recoverLostVolumes: false },
    ...change,
  }
}

export const ofPv = (pv: CachedVolume | undefined): AttachmentView['volume'] => ({ kind: 'pv', name: 'pv1', pv })
