import type { Lookups } from '../caches/caches.ts'
import type { Claim } from '../caches/claim.ts'
import { type CachedPod, isTerminated } from '../caches/pod.ts'
import { attachModesOf, csiSourceOf, type Volume } from '../caches/volume.ts'
import { uniqueVolumeName } from '../volume-names.ts'
import type { VolumeSpec } from './desired-state.ts'

/** The result of resolving a volume of a pod for an attach. */
export type ResolvedSpec =
  | { readonly kind: 'attachable'; readonly spec: VolumeSpec }
  /** The volume is known and needs no attach. */
  | { readonly kind: 'notAttachable'; readonly volumeName: string | undefined }
  /** The claim is missing, unbound or owned by another object, or the caches are late. */
  | { readonly kind: 'unknown' }

/** Reports whether the volumes of a pod must be attached: the pod is scheduled and not terminated. */
export function wantsVolumes(pod: CachedPod): boolean {
  return pod.nodeName !== '' && !isTerminated(pod)
}

export function resolveVolumes(pod: CachedPod, stores: Lookups): readonly ResolvedSpec[] {
  return pod.volumes.map((volume) => {
    // Volumes that a pod declares inline need no attach.
    if (volume.kind !== 'claim') return { kind: 'notAttachable', volumeName: undefined }
    const claim = stores.claims.store.get(`${pod.namespace}/${volume.claim}`)
    if (claim === undefined || (volume.ephemeral && claim.ownerUid !== pod.uid)) return { kind: 'unknown' }
    const pair = boundVolume(claim, stores)
    return pair === undefined ? { kind: 'unknown' } : resolve(pair, stores)
  })
}

/** Returns the volume of a claim if the claim and the volume refer to each other. */
export function boundVolume(claim: Claim, { volumes }: Pick<Lookups, 'volumes'>): Volume | undefined {
  if (claim.phase !== 'Bound' || claim.volumeName === '') return undefined
  const volume = volumes.store.get(claim.volumeName)
  return volume?.claimRef?.uid === claim.uid ? volume : undefined
}

function resolve(volume: Volume, stores: Lookups): ResolvedSpec {
  const csi = csiSourceOf(volume)
  if (csi === undefined) return { kind: 'notAttachable', volumeName: undefined }
  const volumeName = uniqueVolumeName(csi)
  if (!needsAttach(csi.driver, stores)) return { kind: 'notAttachable', volumeName }
  return { kind: 'attachable', spec: { volumeName, pvName: volume.key, multiAttach: mayAttachTwice(volume) } }
}

/** Reports whether a driver needs attach. A driver without a CSIDriver object does. */
export function needsAttach(driver: string, { drivers }: Pick<Lookups, 'drivers'>): boolean {
  return drivers.store.get(driver)?.attachRequired !== false
}

/** Reports whether several nodes may attach a volume, which includes a volume without access modes. */
export function mayAttachTwice(volume: Pick<Volume, 'accessModes' | 'migrated'>): boolean {
  const accessModes = attachModesOf(volume)
  return accessModes.length === 0 || accessModes.some((mode) => mode === 'ReadWriteMany' || mode === 'ReadOnlyMany')
}
