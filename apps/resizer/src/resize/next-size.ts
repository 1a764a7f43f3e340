import type { Quantity } from '@csi-sidecars/kube-types'
import { sizeToExpandTo } from './decide.ts'
import type { ResizeView } from './observe.ts'
import type { ControllerExpansion, ResizeRun } from './run.ts'

/** Returns the size that is due for the same claim now, according to the caches. Undefined if no expansion is due. */
export function nextSize(
  { deps, key }: ResizeRun,
  expansion: ControllerExpansion,
  { finallyFailed }: Pick<ResizeView, 'finallyFailed'>,
): Quantity | undefined {
  const { settings, clock } = deps
  const claim = deps.claims.store.get(key)
  if (claim?.uid !== expansion.claim.uid) return undefined
  const cached = deps.volumes.store.get(claim.volumeName)
  // The cache lacks the fields of a volume of kind `other`, so the volume from the start of the run is used.
  const volume = cached === undefined || cached.kind === 'other' ? expansion.volume : cached
  return sizeToExpandTo({ claim, volume, finallyFailed, nextTryInMs: undefined, settings, now: clock.now() })
}
