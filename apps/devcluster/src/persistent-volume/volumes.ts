import type { Patch } from '@csi-sidecars/kube-types'
import { PROVISIONED_BY } from '../caches/annotations.ts'
import type { Claim } from '../caches/claim.ts'
import type { Volume, VolumePhase } from '../caches/volume.ts'
import type { EventToRecord } from './claims.ts'
import { unbindVolumePatch, volumePhasePatch } from './patches.ts'

/** A volume and the claim that it is for, at one moment. */
export interface VolumeView {
  readonly volume: Volume
  /** The claim of the reference's name, whatever its uid; undefined when the API has none. */
  readonly claim: Claim | undefined
}

export type VolumeStep =
  | { readonly do: 'patchVolume'; readonly patch: Patch }
  | { readonly do: 'patchVolumeStatus'; readonly patch: Patch }
  | { readonly do: 'tellVolume'; readonly event: EventToRecord }
  | { readonly do: 'tellClaim'; readonly claim: Claim; readonly event: EventToRecord }
  /** The other half of the binding is the claim worker's. */
  | { readonly do: 'lookAtClaim'; readonly key: string }

/** The volume worker's plan. */
export function decideVolume({ volume, claim }: VolumeView): readonly VolumeStep[] {
  const { claimRef } = volume
  if (claimRef?.uid === undefined) return phase(volume, 'Available')
  if (claim === undefined || claim.uid !== claimRef.uid) return released(volume)
  if (claim.volumeName === volume.key) return phase(volume, 'Bound')
  if (claim.volumeName !== '') return boundElsewhere(volume)
  if (claim.volumeMode !== volume.volumeMode) return modesDiffer(volume, claim)
  return [{ do: 'lookAtClaim', key: claim.key }]
}

/**
 * The claim is gone. What happens then is the policy's: a kept volume waits for an administrator, one that is to be
 * deleted is deleted by who provisioned it, as soon as the phase says so.
 */
function released(volume: Volume): readonly VolumeStep[] {
  // A failure that somebody may want to read is not written over.
  const steps = volume.phase === 'Failed' ? [] : phase(volume, 'Released')
  if (volume.reclaimPolicy === 'Recycle') {
    return [...steps, ...failed(volume, 'VolumeFailedRecycle', 'No recycler plugin found for the volume!')]
  }
  if (volume.reclaimPolicy === 'Delete' && volume.csi === undefined && !(PROVISIONED_BY in volume.annotations)) {
    const why = `error getting deleter volume plugin for volume "${volume.key}": no deletable volume plugin matched`
    return [...steps, ...failed(volume, 'VolumeFailedDelete', why)]
  }
  return steps
}

/** Its claim has found another volume: one that was made for that claim goes, any other becomes free again. */
function boundElsewhere(volume: Volume): readonly VolumeStep[] {
  if (PROVISIONED_BY in volume.annotations && volume.reclaimPolicy === 'Delete') return released(volume)
  return [{ do: 'patchVolume', patch: unbindVolumePatch(volume) }, ...phase(volume, 'Available')]
}

function modesDiffer(volume: Volume, claim: Claim): readonly VolumeStep[] {
  const event = (message: string): EventToRecord => ({ type: 'Warning', reason: 'VolumeMismatch', message })
  const toVolume = `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${claim.name}" due to incompatible volumeMode.`
  const toClaim = `Cannot bind PersistentVolume "${volume.key}" to requested PersistentVolumeClaim due to incompatible volumeMode.`
  return [
    { do: 'tellVolume', event: event(toVolume) },
    { do: 'tellClaim', claim, event: event(toClaim) },
  ]
}

function phase(volume: Volume, wanted: VolumePhase, message?: string): readonly VolumeStep[] {
  const patch = volumePhasePatch(volume, wanted, message)
  return patch === undefined ? [] : [{ do: 'patchVolumeStatus', patch }]
}

function failed(volume: Volume, reason: string, message: string): readonly VolumeStep[] {
  if (volume.phase === 'Failed') return []
  return [...phase(volume, 'Failed', message), { do: 'tellVolume', event: { type: 'Warning', reason, message } }]
}
