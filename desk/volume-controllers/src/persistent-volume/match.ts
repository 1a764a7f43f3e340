import { Quantity } from '@csi-sidecars/kube-types'
import type { Claim } from '../caches/claim.ts'
import { isForClaim, type Volume } from '../caches/volume.ts'
import { matchesLabels, matchesNode } from '../selectors.ts'

/** The inputs for the choice of a volume, in addition to the claim and the candidates. */
export interface MatchOptions {
  /** The node that must reach the volume, if the binder chooses. Undefined if the controller chooses. */
  readonly node?: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
  /** True if the class has the mode WaitForFirstConsumer, so that the binder and not the controller chooses. */
  readonly delayed?: boolean
  /** Volumes that are already chosen for other claims of the same pod. */
  readonly reserved?: ReadonlySet<string>
}

/** Returns a volume reserved for the claim, or else the smallest of the free volumes with the fewest access modes. */
export function findBestMatch(claim: Claim, volumes: Iterable<Volume>, options: MatchOptions = {}): Volume | undefined {
  let best: Volume | undefined
  for (const volume of volumes) {
    if (options.reserved?.has(volume.key) || !couldHold(claim, volume)) continue
    if (isForClaim(volume, claim)) return canReach(volume, options.node) ? volume : undefined
    if (volume.claimRef !== undefined || (options.delayed && options.node === undefined)) continue
    if (isFree(claim, volume) && canReach(volume, options.node) && isBetter(volume, best)) best = volume
  }
  return best
}

/** Reports whether a volume meets the requirements of the claim that apply to free and to reserved volumes. */
function couldHold(claim: Claim, volume: Volume): boolean {
  return (
    !volume.deleting &&
    volume.volumeMode === claim.volumeMode &&
    volume.attributesClass === claim.attributesClass &&
    hasModes(claim, volume) &&
    sizeOf(volume).compare(Quantity.parse(claim.request)) >= 0
  )
}

/** Reports whether a volume meets the requirements of the claim that apply only to free volumes. */
function isFree(claim: Claim, volume: Volume): boolean {
  return (
    volume.phase === 'Available' &&
    volume.className === (claim.className ?? '') &&
    matchesLabels(claim.selector, volume.labels)
  )
}

function isBetter(volume: Volume, best: Volume | undefined): boolean {
  if (best === undefined) return true
  const fewer = volume.accessModes.length - best.accessModes.length
  return fewer < 0 || (fewer === 0 && sizeOf(volume).compare(sizeOf(best)) < 0)
}

function canReach(volume: Volume, node: MatchOptions['node']): boolean {
  return node === undefined || matchesNode(volume.required, node)
}

export function hasModes(claim: Pick<Claim, 'accessModes'>, volume: Pick<Volume, 'accessModes'>): boolean {
  return claim.accessModes.every((mode) => volume.accessModes.includes(mode))
}

function sizeOf(volume: Volume): Quantity {
  return Quantity.parse(volume.capacity)
}

/** Returns why a volume that the user named cannot be bound; undefined if it can. The text is part of an event. */
export function mismatch(claim: Claim, volume: Volume): string | undefined {
  if (volume.deleting) return `the volume is marked for deletion "${volume.key}"`
  if (sizeOf(volume).bytes() < Quantity.parse(claim.request).bytes()) return 'requested PV is too small'
  if (volume.className !== (claim.className ?? '')) return 'storageClassName does not match'
  if (volume.attributesClass !== claim.attributesClass) return 'volumeAttributesClassName does not match'
  if (volume.volumeMode !== claim.volumeMode) return 'incompatible volumeMode'
  if (!hasModes(claim, volume)) return 'incompatible accessMode'
  return undefined
}
