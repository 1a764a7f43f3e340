import { unreachable } from '@csi-sidecars/base'
import type { EventText } from '@csi-sidecars/events'
import type { Patch } from '@csi-sidecars/kube-types'
import { PROVISIONED_BY } from '../caches/annotations.ts'
import type { Claim } from '../caches/claim.ts'
import type { Volume, VolumePhase } from '../caches/volume.ts'
import { migrateVolumePatch } from './migrate.ts'
import { unbindVolumePatch, volumePhasePatch } from './patches.ts'
import { decideReclaim, type ReclaimStep, type ReclaimView } from './reclaim.ts'

export type VolumeStep =
  | { readonly do: 'patchVolume'; readonly patch: Patch }
  | { readonly do: 'patchVolumeStatus'; readonly patch: Patch }
  | { readonly do: 'recordOnVolume'; readonly event: EventText }
  | { readonly do: 'recordOnClaim'; readonly claim: Claim; readonly event: EventText }
  /** Enqueues the claim, because the claim worker writes the other half of the binding. */
  | { readonly do: 'lookAtClaim'; readonly key: string }
  | Extract<ReclaimStep, { do: 'remove' | 'scrub' | 'endScrub' }>

/** Returns the plan for a volume. */
export function decideVolume(view: ReclaimView): readonly VolumeStep[] {
  const { volume, claim } = view
  const migrate = migrateVolumePatch(volume)
  // The next run plans the other steps, from the patched volume.
  if (migrate !== undefined) return [{ do: 'patchVolume', patch: migrate }]
  const { claimRef } = volume
  if (claimRef?.uid === undefined) return phase(volume, 'Available')
  if (claim === undefined || claim.uid !== claimRef.uid) return released(view)
  if (claim.volumeName === volume.key) return phase(volume, 'Bound')
  if (claim.volumeName !== '') return boundElsewhere(view)
  if (claim.volumeMode !== volume.volumeMode) return modesDiffer(volume, claim)
  return [{ do: 'lookAtClaim', key: claim.key }]
}

/** Plans the release of a volume. The phase `Failed` stays, so that users can read its message. */
function released(view: ReclaimView): readonly VolumeStep[] {
  const { volume } = view
  const steps = volume.phase === 'Failed' ? [] : phase(volume, 'Released')
  return [...steps, ...decideReclaim(view).flatMap((step) => stepsFor(step, volume))]
}

function stepsFor(step: ReclaimStep, volume: Volume): readonly VolumeStep[] {
  switch (step.do) {
    case 'fail':
      return failed(volume, step.reason, step.message)
    case 'report':
      return [{ do: 'recordOnVolume', event: { type: 'Normal', reason: step.reason, message: step.message } }]
    case 'free':
      return freed(volume)
    case 'remove':
    case 'scrub':
    case 'endScrub':
      return [step]
    default:
      return unreachable(step)
  }
}

/**
 * Handles a volume whose claim is bound to another volume. A provisioned volume with the policy `Delete` is deleted;
 * any other volume becomes free.
 */
function boundElsewhere(view: ReclaimView): readonly VolumeStep[] {
  const { volume } = view
  return PROVISIONED_BY in volume.annotations && volume.reclaimPolicy === 'Delete' ? released(view) : freed(volume)
}

function freed(volume: Volume): readonly VolumeStep[] {
  return [{ do: 'patchVolume', patch: unbindVolumePatch(volume) }, ...phase(volume, 'Available')]
}

function modesDiffer(volume: Volume, claim: Claim): readonly VolumeStep[] {
  const event = (message: string): EventText => ({ type: 'Warning', reason: 'VolumeMismatch', message })
  const toVolume = `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${claim.name}" due to incompatible volumeMode.`
  const toClaim = `Cannot bind PersistentVolume "${volume.key}" to requested PersistentVolumeClaim due to incompatible volumeMode.`
  return [
    { do: 'recordOnVolume', event: event(toVolume) },
    { do: 'recordOnClaim', claim, event: event(toClaim) },
  ]
}

function phase(volume: Volume, wanted: VolumePhase, message?: string): readonly VolumeStep[] {
  const patch = volumePhasePatch(volume, wanted, message)
  return patch === undefined ? [] : [{ do: 'patchVolumeStatus', patch }]
}

function failed(volume: Volume, reason: string, message: string): readonly VolumeStep[] {
  if (volume.phase === 'Failed') return []
  return [...phase(volume, 'Failed', message), { do: 'recordOnVolume', event: { type: 'Warning', reason, message } }]
}
