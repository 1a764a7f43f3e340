import type { Cause } from '@csi-sidecars/controller'
import type { Patch, Quantity } from '@csi-sidecars/kube-types'
import { type Claim, claimRef } from '../caches/claim.ts'
import { SIZE_STATUS } from '../caches/names.ts'
import type { Volume } from '../caches/volume.ts'
import { isNodeStepPending } from './conditions.ts'
import type { ResizeView } from './observe.ts'
import { dropPreResizePatch, markPatch } from './patches.ts'
import { readSizes, type Sizes, whyNoTarget } from './sizes.ts'
import { isOurs } from './source.ts'
import { type Target, targetOf } from './target.ts'

export type ResizeStep =
  /** Kubelet is done: the volume need not remember the old size any more. */
  | { readonly do: 'dropPreResize'; readonly patch: Patch }
  /** The driver called the request infeasible: from now on it is repeated slowly. */
  | { readonly do: 'backOff' }
  /** The last step of an expansion that is due: store that it begins. The driver comes after it. */
  | { readonly do: 'mark'; readonly patch: Patch; readonly target: Quantity; readonly row: Target['row'] }
  /** Nothing to do until something changes. */
  | { readonly do: 'noop'; readonly why: string; readonly row?: Target['row']; readonly waitsFor?: Cause }
  /** Not before so many milliseconds, unless the request changes. */
  | { readonly do: 'postpone'; readonly ms: number }
  /** Something is wrong that no retry mends: report it to the user. */
  | { readonly do: 'reject'; readonly message: string; readonly waitsFor: Cause }
  | { readonly do: 'fail'; readonly message: string; readonly waitsFor: Cause }

/** The steps up to the call of the driver, in the order in which they go over the wire. */
export function decideResize(view: ResizeView): readonly ResizeStep[] {
  const { claim, volume } = view
  if (claim.volumeName === '') return [noop('PV bound to PVC is not created yet')]
  if (volume === undefined) return [view.settings.nodeDeployment ? volumeElsewhere(claim) : missingVolume(claim)]
  if (hasItsSize(claim, volume)) return [noop('No need to resize PVC')]
  const read = readSizes(claim, volume)
  const steps: ResizeStep[] = []
  if (read.ok) steps.push(...cleanUp(view, volume, read.sizes))
  if (claim.phase !== undefined && claim.phase !== 'Bound') return [...steps, noop('No need to resize PVC')]
  if (read.ok && read.sizes.request.compare(read.sizes.capacity) <= 0) return [...steps, noop('No need to resize PVC')]
  if (!isOurs(claim, volume, view.settings.driverName)) return [...steps, noop("Resizer doesn't support PV")]
  const wrong = read.ok ? whyNotBound(claim, volume) : read.message
  if (wrong !== undefined || !read.ok) return [...steps, reject(volume, wrong ?? '')]
  return [...steps, ...expand(view, volume, read.sizes)]
}

/** Equal texts are equal sizes. It saves reading them in nearly all claims at nearly all times. */
function hasItsSize(claim: Claim, volume: Volume): boolean {
  return claim.request === claim.capacity && volume.preResize === undefined
}

/** Whether a run over the claim would do nothing, as far as the caches show. */
export function isSizeAtRest(claim: Claim, volume: Volume | undefined, driverName: string): boolean {
  if (volume === undefined || !hasItsSize(claim, volume)) return false
  // The cache has too little of a migrated volume that looks like another driver's.
  return volume.kind !== 'other' || !isOurs(claim, volume, driverName)
}

/** The size that the claim is to be expanded to now; undefined when it is not. */
export function dueSize(view: ResizeView): Quantity | undefined {
  const last = decideResize(view).at(-1)
  return last?.do === 'mark' ? last.target : undefined
}

/** Looks at neither driver nor claimRef nor phase: what is left on others' volumes goes too. */
function cleanUp({ settings }: ResizeView, volume: Volume, sizes: Sizes): ResizeStep[] {
  if (!settings.annotateFsResize || volume.preResize === undefined) return []
  return sizes.capacity.compare(sizes.volume) < 0 ? [] : [{ do: 'dropPreResize', patch: dropPreResizePatch(volume) }]
}

function expand(view: ResizeView, volume: Volume, sizes: Sizes): ResizeStep[] {
  const { claim, slowForMs, settings, now } = view
  const { row, size } = targetOf(sizes, {
    status: claim.sizeStatus,
    finallyFailed: view.finallyFailed,
    driverExpands: settings.driverExpands,
    nodeStepPending: isNodeStepPending(claim),
  })
  if (size === undefined) return [{ do: 'noop', why: 'Waiting for the node to expand the volume', row }]
  const reason = whyNoTarget(size)
  if (reason !== undefined) return [reject(volume, reason)]
  const backOff: ResizeStep[] = claim.sizeStatus === SIZE_STATUS.controllerInfeasible ? [{ do: 'backOff' }] : []
  const newSize = sizes.allocated === undefined || !sizes.allocated.equals(size)
  if (!newSize && slowForMs !== undefined) return [...backOff, { do: 'postpone', ms: slowForMs }]
  return [...backOff, { do: 'mark', patch: markPatch(claim, { target: size, newSize }, now), target: size, row }]
}

/** A claim that names a volume need not be the one that the volume is bound to. Undefined when it is. */
function whyNotBound(claim: Claim, volume: Volume): string | undefined {
  const { namespace } = claimRef(claim)
  if (claim.phase === undefined) return `the claim has no status`
  if (volume.claimNamespace === namespace && volume.claimUid === claim.uid) return undefined
  if (volume.claimNamespace === undefined) return `PersistentVolume "${volume.key}" is not bound to a claim`
  const other = `${volume.claimNamespace}/${volume.claimName ?? ''}`
  if (other !== claim.key) return `PersistentVolume "${volume.key}" is bound to another claim, "${other}"`
  return `PersistentVolume "${volume.key}" is bound to another claim of this name, with uid ${volume.claimUid ?? '""'}`
}

function missingVolume({ key, volumeName }: Claim): ResizeStep {
  const message = `PV "${volumeName}" bound to pvc "${key}" not found`
  return { do: 'fail', message, waitsFor: { on: 'volume', name: volumeName } }
}

/** It may come to this node later. */
function volumeElsewhere({ volumeName }: Claim): ResizeStep {
  return { ...noop('The PV is not of this node'), waitsFor: { on: 'volume', name: volumeName } }
}

function reject(volume: Volume, message: string): ResizeStep {
  return { do: 'reject', message, waitsFor: { on: 'volume', name: volume.key } }
}

function noop(why: string): ResizeStep & { readonly do: 'noop' } {
  return { do: 'noop', why }
}
