import { unreachable } from '@csi-sidecars/base'
import { type Outcome, SETTLED } from '@csi-sidecars/controller'
import { isConflict, isNotFound } from '@csi-sidecars/kube-client'
import { type Claim, claimRef } from '../caches/claim.ts'
import { CONFLICT_TRIES, newRun, normal, patchClaim, readClaim, warning } from '../claim-run.ts'
import { decideModify, type ModifyStep, type ModifyView } from './decide.ts'
import { cannotMark, recordFailure, recordSuccess } from './record.ts'
import { modifyRequest } from './request.ts'
import type { Modification, ModifyDeps, ModifyRun } from './run.ts'

type Beginning = { readonly modification: Modification } | { readonly end: Outcome }

/** One run over one claim, in the same three parts as a resize: mark the beginning, call the driver, record the result. */
export async function reconcileModify(key: string, deps: ModifyDeps, signal: AbortSignal): Promise<Outcome> {
  const run: ModifyRun = newRun(key, deps, signal)
  run.log.v(4)?.info('Started PVC processing for modify controller')
  deps.memory.waiting.stop(key)
  const beginning = await deps.turns.take(key, signal, () => begin(run))
  if ('end' in beginning) return beginning.end
  try {
    return await modify(run, beginning.modification)
  } finally {
    // Whatever the run has learned about a claim that went away meanwhile must not count for a later one of its name.
    if (deps.claims.store.get(key) === undefined) deps.memory.forget(key)
  }
}

/** Looks at the claim anew as long as others change it between our look and our write. */
async function begin(run: ModifyRun): Promise<Beginning> {
  const { key, signal } = run
  for (let left = CONFLICT_TRIES; ; left -= 1) {
    const view = observe(run)
    if (view === undefined) {
      run.log.v(3)?.info('PVC is deleted or does not exist')
      return { end: SETTLED }
    }
    try {
      return await performBeginning(run, view, decideModify(view))
    } catch (error) {
      signal.throwIfAborted()
      if (isNotFound(error)) return { end: SETTLED }
      if (isConflict(error) && left > 1) await readClaim(run)
      else return { end: { kind: 'retry', cause: cannotMark(key, error) } }
    }
  }
}

function observe({ key, deps }: ModifyRun): ModifyView | undefined {
  const { claims, volumes, classes, memory, clock } = deps
  const claim = claims.store.get(key)
  if (claim === undefined) return undefined
  return {
    claim,
    volume: volumes.store.get(claim.volumeName),
    classOf: (name) => classes.get(name),
    uncertain: memory.uncertain.has(key),
    slow: memory.slow.leftMs(key) !== undefined,
    now: clock.now(),
  }
}

async function performBeginning(run: ModifyRun, view: ModifyView, steps: readonly ModifyStep[]): Promise<Beginning> {
  const { deps, key, log } = run
  let { claim } = view
  for (const step of steps) {
    switch (step.do) {
      case 'skip': {
        const message = `skipping volume modification for pvc ${key}, because modification previously failed with infeasible error`
        log.v(4)?.info(message)
        return { end: { kind: 'retry', cause: new Error(message) } }
      }
      case 'speedUp':
        deps.memory.slow.remove(key)
        break
      case 'rest':
        log.v(4)?.info(step.why)
        return { end: SETTLED }
      case 'cancel':
        normal(run, claim, 'VolumeModifyCanceled', 'Cancelled modify.')
        await patchClaim(run, step.patch)
        return { end: SETTLED }
      case 'stall':
        deps.memory.waiting.wait(key, step.waitsFor)
        noSuchClass(run, claim, step.className)
        return { end: { kind: 'retry', cause: new Error(step.message) } }
      case 'pend':
        // Before the patch: the class may come while it is under way.
        deps.memory.waiting.wait(key, step.waitsFor)
        noSuchClass(run, claim, step.className)
        if (step.patch !== undefined) await patchClaim(run, step.patch)
        return { end: SETTLED }
      case 'start': {
        const away = whileAway(run)
        if (away !== undefined) return away
        deps.began(key)
        claim = await patchClaim(run, step.patch)
        const message = `external resizer is modifying volume ${claimRef(claim).name} with vac ${step.className}`
        normal(run, claim, 'VolumeModify', message)
        break
      }
      case 'modify':
        return whileAway(run) ?? { modification: { claim, volume: step.volume, target: step.target } }
      case 'fail':
        deps.memory.waiting.wait(key, step.waitsFor)
        return { end: { kind: 'retry', cause: new Error(step.message) } }
      default:
        unreachable(step)
    }
  }
  throw new Error('the plan of a modification has no end')
}

/** A modification that cannot be called now is not begun either. */
function whileAway({ deps, key }: ModifyRun): Beginning | undefined {
  if (!deps.driver.lost) return undefined
  deps.memory.waiting.wait(key, { on: 'driver' })
  return { end: { kind: 'retry', cause: new Error('the CSI driver is away') } }
}

function noSuchClass(run: ModifyRun, claim: Claim, className: string): void {
  warning(run, claim, 'VolumeModifyFailed', `VAC ${JSON.stringify(className)} does not exist.`)
}

async function modify(run: ModifyRun, modification: Modification): Promise<Outcome> {
  const { deps, signal } = run
  try {
    const { api, extraMetadata } = deps
    const request = await modifyRequest(modification, { api, extraMetadata }, signal)
    await deps.driver.modify(request, { signal })
  } catch (error) {
    return await recordFailure(run, modification, error)
  }
  return await recordSuccess(run, modification)
}
