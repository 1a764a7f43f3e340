import { messageOf } from '@csi-sidecars/base'
import type { Claim } from '../caches/claim.ts'
import { withoutFinalizer } from '../edit.ts'
import { isMarked } from './decide.ts'
import { CLAIM_EVENTS } from './events.ts'
import type { AnswerError } from './failure.ts'
import type { Unsaved } from './memory.ts'
import { cachedClaim } from './observe.ts'
import { type ClaimRun, edit, recordEvent, recordNews } from './run.ts'
import { saveVolume } from './save.ts'

/**
 * Stores the PersistentVolume of a created volume, or leaves it in `unsaved` for a later try. Returns an error if the
 * PersistentVolume cannot exist, because its name is taken.
 */
export async function settleUnsaved(run: ClaimRun, unsaved: Unsaved): Promise<AnswerError | undefined> {
  const { deps } = run
  const name = unsaved.pv.metadata?.name ?? ''
  // The entry survives an abort, so that a later run of this term stores it.
  deps.memory.unsaved.set(name, unsaved)
  try {
    return await storeUnsaved(run, name)
  } catch (error) {
    run.signal.throwIfAborted()
    reportUnsaved(run, unsaved, error)
    deps.storeLater(name)
    return undefined
  }
}

/** One try to store it. Throws the reason why it has to be tried again. */
export async function storeUnsaved(run: ClaimRun, name: string): Promise<AnswerError | undefined> {
  const { deps } = run
  const unsaved = deps.memory.unsaved.get(name)
  if (unsaved === undefined) return undefined
  const { claim } = unsaved
  const conflict = await saveVolume(run, unsaved)
  deps.memory.unsaved.delete(name)
  deps.memory.ended(claim.uid)
  if (conflict !== undefined) return conflict
  recordEvent(run, claim, CLAIM_EVENTS.succeeded(name))
  await releaseClaim(run, claim)
  return undefined
}

/** A refused PersistentVolume is an event of its claim: nothing else shows why the claim stays unbound. */
export function reportUnsaved(run: ClaimRun, { claim, pv }: Unsaved, error: unknown): void {
  const message = `cannot store the PersistentVolume ${pv.metadata?.name ?? ''}: ${messageOf(error)}`
  run.log.error(error, 'Failed to save persistentvolume', { PV: pv.metadata?.name })
  recordNews(run, claim, CLAIM_EVENTS.failed(message))
}

/** Removes our finalizer. A failure is repeated when the claim is looked at again, which its finalizer causes. */
export async function releaseClaim(run: ClaimRun, claim: Claim): Promise<void> {
  const { settings } = run.deps
  if (!isMarked(cachedClaim(claim.uid, run.deps) ?? claim, settings)) return
  await edit(run, claim, withoutFinalizer(settings.claimFinalizer))
}
