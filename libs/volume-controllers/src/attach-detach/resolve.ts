import type { PersistentVolume } from '@csi-sidecars/kube-types'
import type { Lookups } from '../caches/caches.ts'
import type { Claim } from '../caches/claim.ts'
import { type CachedPod, isTerminated } from '../caches/pod.ts'
import { csiSourceOf, type Volume } from '../caches/volume.ts'
import { uniqueVolumeName } from '../volume-names.ts'
import type { VolumeSpec } from './desired-state.ts'

/** Whether the pod's volumes are to be attached: it is placed and its containers run or will. */
export function wantsVolumes(pod: CachedPod): boolean {
  return pod.nodeName !== '' && !isTerminated(pod)
}

/** A volume of a pod, as far as attach is concerned. */
export type Resolved =
  | { readonly is: 'attachable'; readonly spec: VolumeSpec }
  /** Known, and none that is attached. */
  | { readonly is: 'notAttachable'; readonly volumeName: string | undefined }
  /** Its claim is not bound, or not all of it is in the caches yet. */
  | { readonly is: 'unknown' }

export function resolveVolumes(pod: CachedPod, stores: Lookups): readonly Resolved[] {
  return pod.volumes.map((volume) => {
    if (volume.is === 'migrated') return resolveInline(volume.volume, stores)
    // What else a pod declares itself needs no attach, CSI or not.
    if (volume.is !== 'claim') return { is: 'notAttachable', volumeName: undefined }
    const claim = stores.claims.store.get(`${pod.namespace}/${volume.claim}`)
    if (claim === undefined || (volume.ephemeral && claim.ownerUid !== pod.uid)) return { is: 'unknown' }
    const bound = boundVolume(claim, stores)
    return bound === undefined ? { is: 'unknown' } : resolve(bound, stores)
  })
}

/** The volume of a claim that is bound from both sides. */
export function boundVolume(claim: Claim, { volumes }: Pick<Lookups, 'volumes'>): Volume | undefined {
  if (claim.phase !== 'Bound' || claim.volumeName === '') return undefined
  const volume = volumes.store.get(claim.volumeName)
  return volume?.claimRef?.uid === claim.uid ? volume : undefined
}

function resolve(volume: Volume, stores: Lookups): Resolved {
  const csi = csiSourceOf(volume)
  if (csi === undefined) return { is: 'notAttachable', volumeName: undefined }
  const volumeName = uniqueVolumeName(csi)
  if (!needsAttach(csi.driver, stores)) return { is: 'notAttachable', volumeName }
  return { is: 'attachable', spec: { volumeName, pvName: volume.key, multiAttach: mayAttachTwice(volume) } }
}

function resolveInline({ metadata, spec }: PersistentVolume, stores: Lookups): Resolved {
  const csi = spec?.csi
  if (csi == null) return { is: 'notAttachable', volumeName: undefined }
  const volumeName = uniqueVolumeName(csi)
  if (!needsAttach(csi.driver, stores)) return { is: 'notAttachable', volumeName }
  const multiAttach = mayAttachTwice({ accessModes: spec?.accessModes ?? [] })
  return { is: 'attachable', spec: { volumeName, pvName: metadata?.name ?? '', multiAttach, inline: { ...spec, csi } } }
}

/** A driver of which nothing is known needs attach. */
export function needsAttach(driver: string, { drivers }: Pick<Lookups, 'drivers'>): boolean {
  return drivers.store.get(driver)?.attachRequired !== false
}

/** Without any access mode nothing is known against it. The driver that took over for a plugin may allow more modes. */
export function mayAttachTwice({ accessModes: own, inTree }: Pick<Volume, 'accessModes'> & Partial<Volume>): boolean {
  const accessModes = inTree?.is === 'migrated' ? inTree.accessModes : own
  return accessModes.length === 0 || accessModes.some((mode) => mode === 'ReadWriteMany' || mode === 'ReadOnlyMany')
}
