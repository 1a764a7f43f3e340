import { messageOf, unreachable } from '@csi-sidecars/base'
import { type Outcome, SETTLED } from '@csi-sidecars/controller'
import { isConflict, isNotFound } from '@csi-sidecars/kube-client'
import { type Patch, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import type { Claim } from '../caches/claim.ts'
import { CONFLICT_TRIES, cannotPatch, newRun, normal, patchClaim, readClaim, warning } from '../claim-run.ts'
import { decideResize, type ResizeStep } from './decide.ts'
import { expandVolume } from './expand.ts'
import { observeResize, type ResizeView } from './observe.ts'
import { type Expansion, recordFailure, recordSuccess } from './record.ts'
import { type ResizeDeps, type ResizeRun, resizeFailed } from './run.ts'

/** What came of looking at a claim: an expansion that is stored as begun, or the end of the run. */
type Beginning = { readonly expansion: Expansion } | { readonly end: Outcome }

/**
 * One run over one claim: mark the beginning, call the driver, record the result. Reading and writing the claim happens
 * in its turns; the call does not, so that a modification of the same volume can be called meanwhile.
 */
export async function reconcileResize(key: string, deps: ResizeDeps, signal: AbortSignal): Promise<Outcome> {
  const run: ResizeRun = newRun(key, deps, signal)
  run.log.v(4)?.info('Started PVC processing for resize controller')
  deps.memory.waiting.stop(key)
  deps.inUse?.stopWaiting(key)
  const beginning = await deps.turns.take(key, signal, () => begin(run))
  if ('end' in beginning) return beginning.end
  try {
    return await expand(run, beginning.expansion)
  } finally {
    // Whatever the run has learned about a claim that went away meanwhile must not count for a later one of its name.
    if (deps.claims.store.get(key) === undefined) deps.memory.forget(key)
  }
}

/** Looks at the claim anew as long as others change it between our look and our write. */
async function begin(run: ResizeRun): Promise<Beginning> {
  const { deps, key, signal } = run
  const { api, memory, settings, clock } = deps
  const sight = {
    api,
    claims: deps.claims.store,
    volumes: deps.volumes.store,
    memory,
    settings,
    now: () => clock.now(),
  }
  for (let left = CONFLICT_TRIES; ; left -= 1) {
    const view = await observeResize(key, sight, signal)
    if (view === undefined) {
      run.log.v(3)?.info('PVC is deleted or does not exist')
      return { end: SETTLED }
    }
    try {
      return await performBeginning(run, view, decideResize(view))
    } catch (error) {
      signal.throwIfAborted()
      if (isNotFound(error)) return { end: SETTLED }
      if (isConflict(error) && left > 1) await readClaim(run)
      else {
        const cause = new Error(`marking pvc "${key}" as resizing failed: ${cannotPatch(key, error)}`, { cause: error })
        return { end: { kind: 'retry', cause } }
      }
    }
  }
}

async function performBeginning(run: ResizeRun, view: ResizeView, steps: readonly ResizeStep[]): Promise<Beginning> {
  const { deps, key, log } = run
  for (const step of steps) {
    switch (step.do) {
      case 'dropPreResize': {
        const failure = await dropPreResize(run, view, step.patch)
        if (failure !== undefined) return { end: failure }
        break
      }
      case 'slowDown':
        deps.memory.slow.add(key)
        break
      case 'mark':
        return await mark(run, view, step)
      case 'rest':
        if (step.row === 'B5') warnOfOldServer(run)
        log.v(4)?.info(step.why)
        return { end: SETTLED }
      case 'postpone':
        log
          .v(4)
          ?.info(`skipping volume expansion for pvc ${key}, because expansion previously failed with infeasible error`)
        return { end: { kind: 'retryAfter', ms: step.ms } }
      case 'refuse':
        return { end: refuse(run, view, step) }
      case 'fail':
        deps.memory.waiting.wait(key, step.waitsFor)
        return { end: { kind: 'retry', cause: new Error(step.message) } }
      default:
        unreachable(step)
    }
  }
  throw new Error('the plan of a resize has no end')
}

async function mark(run: ResizeRun, view: ResizeView, step: ResizeStep & { do: 'mark' }): Promise<Beginning> {
  const { deps, key } = run
  const { volume } = view
  if (volume === undefined) throw new Error(`an expansion of ${key} without its volume`)
  if (deps.driver?.lost === true) {
    deps.memory.waiting.wait(key, { on: 'driver' })
    return { end: { kind: 'retry', cause: new Error('the CSI driver is away') } }
  }
  if (step.row === 'B5') warnOfOldServer(run)
  deps.began(key)
  const claim = await patchClaim(run, step.patch)
  return { expansion: { claim, before: view.claim, volume, target: step.target } }
}

/** Undefined when the annotation is gone. Until then no other step is taken: the next expansion would keep it. */
async function dropPreResize(run: ResizeRun, { volume }: ResizeView, patch: Patch): Promise<Outcome | undefined> {
  const { deps, signal } = run
  const name = volume?.key ?? ''
  try {
    deps.volumes.learn(await deps.api.patch(PERSISTENT_VOLUMES, { name }, patch, { signal }))
    return undefined
  } catch (cause) {
    signal.throwIfAborted()
    const what = 'failed removing annotation volume.alpha.kubernetes.io/pre-resize-capacity from pv'
    const why = `update capacity of PV ${name} failed: ${messageOf(cause)}`
    return { kind: 'retry', cause: new Error(`${what} "${name}": ${why}`, { cause }) }
  }
}

function refuse(run: ResizeRun, { claim }: ResizeView, { message, waitsFor }: ResizeStep & { do: 'refuse' }): Outcome {
  const { deps, key, log } = run
  deps.memory.waiting.wait(key, waitsFor)
  const told = resizeFailed(run, claim.volumeName, message)
  log.error(new Error(told), 'PVC cannot be resized')
  warning(run, claim, 'VolumeResizeFailed', told)
  return SETTLED
}

async function expand(run: ResizeRun, expansion: Expansion): Promise<Outcome> {
  const { deps, signal } = run
  const { claim, volume, target } = expansion
  const marked = deps.inUse?.isMarked(claim) === true
  if (marked && (await deps.inUse?.isUsed(claim, signal)) === true) return stillInUse(run, claim)
  normal(run, claim, 'Resizing', `External resizer is resizing volume ${volume.key}`)
  deps.inUse?.unmark(claim)
  const { api, driver, settings } = deps
  let expanded: Awaited<ReturnType<typeof expandVolume>>
  try {
    expanded = await expandVolume(volume, target, { api, driver, driverName: settings.driverName }, signal)
  } catch (error) {
    const outcome = await recordFailure(run, expansion, error)
    // Marked just now. The pods are listed once in a run, so after a list from before the call the back-off has to do.
    if (!marked && deps.inUse?.isMarked(claim) === true) await deps.inUse.isUsed(claim, signal)
    return outcome
  }
  run.log.v(4)?.info("Resize volume succeeded, start to update PV's capacity", { PV: volume.key })
  return await recordSuccess(run, expansion, expanded)
}

function stillInUse(run: ResizeRun, claim: Claim): Outcome {
  const { key, deps } = run
  const { driverName } = deps.settings
  const message = `Unable to expand ${key} because CSI driver ${driverName} only supports offline expansion and volume is currently in-use`
  warning(run, claim, 'VolumeResizeFailed', message)
  return { kind: 'retry', cause: new Error(message) }
}

function warnOfOldServer({ log }: ResizeRun): void {
  log.warn(
    'external-resizer may be running with older version of kubernetes api-server, please upgrade to k8s version 1.32',
  )
}
