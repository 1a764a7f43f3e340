import type { EventText } from '@csi-sidecars/events'
import type { Patch } from '@csi-sidecars/kube-types'
import type { Claim } from '../caches/claim.ts'
import { PROVISIONED_BY } from '../caches/metadata.ts'
import type { Volume, VolumePhase } from '../caches/volume.ts'
import { unbindVolumePatch, volumePhasePatch } from './patches.ts'

/** A volume and all inputs of its next step, at one moment. */
export interface VolumeView {
  readonly volume: Volume
  /** The claim whose name is in the `claimRef` of the volume, whatever its UID. Undefined if there is none. */
  readonly claim: Claim | undefined
}

export type VolumeStep =
  | { readonly kind: 'patchVolume'; readonly patch: Patch }
  | { readonly kind: 'patchVolumeStatus'; readonly patch: Patch }
  | { readonly kind: 'recordOnVolume'; readonly event: EventText }
  | { readonly kind: 'recordOnClaim'; readonly claim: Claim; readonly event: EventText }
  /** Enqueues the claim, because the claim worker must still write the volume name to the claim. */
  | { readonly kind: 'lookAtClaim'; readonly key: string }

export function decideVolume({ volume, claim }: VolumeView): readonly VolumeStep[] {
  const { claimRef } = volume
  if (claimRef?.uid === undefined) return phase(volume, 'Available')
  if (claim === undefined || claim.uid !== claimRef.uid) return released(volume)
  if (claim.volumeName === volume.key) return phase(volume, 'Bound')
  if (claim.volumeName !== '') return boundElsewhere(volume)
  if (claim.volumeMode !== volume.volumeMode) return modesDiffer(volume, claim)
  return [{ kind: 'lookAtClaim', key: claim.key }]
}

/** Plans the release of a volume. The phase `Failed` stays, so that users can read the message of the failure. */
function released(volume: Volume): readonly VolumeStep[] {
  const steps = volume.phase === 'Failed' ? [] : phase(volume, 'Released')
  if (volume.reclaimPolicy !== 'Recycle') return steps
  return [...steps, ...failed(volume, 'VolumeFailedRecycle', 'No recycler plugin found for the volume!')]
}

/**
 * Handles a volume whose claim is bound to another volume. A provisioned volume with the policy `Delete` is deleted;
 * any other volume becomes free.
 */
function boundElsewhere(volume: Volume): readonly VolumeStep[] {
  return PROVISIONED_BY in volume.annotations && volume.reclaimPolicy === 'Delete' ? released(volume) : freed(volume)
}

function freed(volume: Volume): readonly VolumeStep[] {
  return [{ kind: 'patchVolume', patch: unbindVolumePatch(volume) }, ...phase(volume, 'Available')]
}

function modesDiffer(volume: Volume, claim: Claim): readonly VolumeStep[] {
  const event = (message: string): EventText => ({ type: 'Warning', reason: 'VolumeMismatch', message })
  const toVolume = `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${claim.name}" due to incompatible volumeMode.`
  const toClaim = `Cannot bind PersistentVolume "${volume.key}" to requested PersistentVolumeClaim due to incompatible volumeMode.`
  return [
    { kind: 'recordOnVolume', event: event(toVolume) },
    { kind: 'recordOnClaim', claim, event: event(toClaim) },
  ]
}

function phase(volume: Volume, desiredPhase: VolumePhase, message?: string): readonly VolumeStep[] {
  const patch = volumePhasePatch(volume, desiredPhase, message)
  return patch === undefined ? [] : [{ kind: 'patchVolumeStatus', patch }]
}

function failed(volume: Volume, reason: string, message: string): readonly VolumeStep[] {
  if (volume.phase === 'Failed') return []
  return [...phase(volume, 'Failed', message), { kind: 'recordOnVolume', event: { type: 'Warning', reason, message } }]
}
