import { unreachable } from '@csi-sidecars/base'
import { Quantity } from '@csi-sidecars/kube-types'
import type { Move } from '@csi-sidecars/testkit'
import { SIZE_STATUS } from '../../caches/names.ts'
import { type ResizeStep, sizeToExpandTo } from '../../resize/decide.ts'
import type { ResizeView } from '../../resize/observe.ts'
import { capacityPatch, failedPatch, finishedPatch, nodeStepPatch, preResizeText } from '../../resize/patches.ts'
import { DRIVER } from '../builders.ts'
import { giOf, type SizeObjects, type SizeRunState, type SizeState } from './size-state.ts'

type In<P extends SizeRunState['phase']> = SizeRunState & { readonly phase: P }
type Moves = Generator<Move<SizeState>>

interface Write {
  readonly name: string
  readonly object: 'claim' | 'pv'
  /** The number of the object after the write: see `Numbered`. */
  readonly patched: number
  /** The value of `edited` after the write. Undefined: unchanged. */
  readonly edited?: boolean
  readonly onSaved: (state: SizeState) => SizeState
  readonly onFailed: (state: SizeState) => SizeState
}

/**
 * The model of a run over a claim: the steps of `reconcile.ts` and `record.ts`, with the real decisions and patches.
 * A crash and other writers may come between two steps. Each write may be refused, and its answer may be lost.
 */
export class SizeRun {
  readonly #objects: SizeObjects
  /** Caches the decisions by their inputs, because many states of the model have equal inputs. */
  readonly #steps = new Map<string, readonly ResizeStep[]>()
  readonly #sizesToExpandTo = new Map<string, Quantity | undefined>()

  constructor(objects: SizeObjects) {
    this.#objects = objects
  }

  *movesFrom(state: SizeState): Moves {
    const { run } = state
    if (run === undefined) {
      const to: SizeState = { ...state, queued: false, timer: 'none', run: { phase: 'begin' } }
      if (state.queued) yield { name: 'run', to, fair: true }
      return
    }
    switch (run.phase) {
      case 'begin':
        return yield* this.#begin(state, run)
      case 'call':
        return yield* this.#call(state, run)
      case 'saveFailure':
        return yield* this.#saveFailure(state, run)
      case 'saveVolume':
        return yield* this.#saveVolume(state, { ...run, phase: 'saveVolume' })
      case 'saveClaim':
        return yield* this.#saveClaim(state, { ...run, phase: 'saveClaim' })
      default:
        unreachable(run)
    }
  }

  *#begin(state: SizeState, run: In<'begin'>): Moves {
    let now = state
    for (const step of this.#decide(state)) {
      switch (step.kind) {
        case 'dropPreResize':
          return yield* this.#dropPreResize(now, step)
        case 'backOff':
          now = { ...now, slow: true }
          break
        case 'start':
          return yield* this.#start(now, run, step)
        case 'noop':
          return yield { name: step.why, to: end(now, 'settled'), fair: true }
        case 'postpone':
          return yield { name: step.kind, to: end(now, 'postponed'), fair: true }
        default:
          throw new Error(`a step that this model has no reason for: ${step.kind}`)
      }
    }
  }

  *#dropPreResize(state: SizeState, { patch }: ResizeStep & { kind: 'dropPreResize' }): Moves {
    yield* this.#write(state, {
      name: 'drop pre-resize',
      object: 'pv',
      patched: this.#objects.volumes.patched(state.pv, 'drop', () => patch),
      onSaved: (saved) => ({ ...saved, run: { phase: 'begin', pv: state.seenPv } }),
      onFailed: (lost) => end(lost, 'retry'),
    })
  }

  *#start(state: SizeState, { pv = state.seenPv }: In<'begin'>, step: ResizeStep & { kind: 'start' }): Moves {
    if (state.seenClaim !== state.claim) {
      const read = this.#objects.seeClaim(state)
      yield { name: 'mark, conflict', to: { ...read, run: { phase: 'begin' } }, fair: true }
      return
    }
    const before = state.claim
    const target = giOf(step.target.toString())
    yield* this.#write(state, {
      name: `mark ${target}`,
      object: 'claim',
      patched: this.#objects.claims.patched(before, `mark ${target}`, () => step.patch),
      onSaved: (saved) => ({ ...saved, run: { phase: 'call', claim: saved.claim, before, pv, target } }),
      onFailed: (lost) => end(lost, 'retry'),
    })
  }

  *#call(state: SizeState, { phase: _, ...begun }: In<'call'>): Moves {
    const { target } = begun
    const { failures, faults } = this.#objects.options
    const { growing } = state
    const wrong =
      growing !== 0 && growing !== target ? `${target} is asked for while ${growing} may be on its way` : undefined
    const size = Math.max(state.size, target)
    const done = { ...state, wrong, size, growing: 0, finallyFailed: false, slow: false }
    for (const nodeStep of [false, true]) {
      const to: SizeState = { ...done, run: { ...begun, phase: 'saveVolume', nodeStep, answer: size } }
      yield { name: nodeStep ? 'driver leaves a step to the node' : 'driver is done', to, fair: true }
    }
    if (!failures) return
    const refused = { ...state, wrong, growing: 0, finallyFailed: true }
    const failing = { ...begun, phase: 'saveFailure' } as const
    yield { name: 'infeasible', to: { ...refused, run: { ...failing, infeasible: true } }, fair: false }
    yield { name: 'final error', to: { ...refused, slow: false, run: { ...failing, infeasible: false } }, fair: false }
    // If the status still shows a refusal, users may request a smaller size, so no size counts as running.
    const showsProgress = this.#objects.claims.cached(begun.claim).sizeStatus === SIZE_STATUS.controllerInProgress
    const unsure = { ...state, wrong, growing: showsProgress ? target : 0, finallyFailed: false, slow: false }
    for (const each of new Set([state.size, size])) {
      const result = each === state.size ? 'without effect' : 'carried out'
      yield { name: `no answer, ${result}`, to: end({ ...unsure, size: each }, 'retry'), fair: false }
      if (faults)
        yield {
          name: `crash in the call, ${result}`,
          to: this.#objects.crashed({ ...unsure, size: each }),
          fair: false,
        }
    }
  }

  *#saveFailure(state: SizeState, { target, infeasible }: In<'saveFailure'>): Moves {
    const { claims } = this.#objects
    const finish = (now: SizeState): SizeState => {
      const size = this.#sizeToExpandTo(now, true)
      return end(now, size !== undefined && !size.equals(gi(target)) ? 'again' : 'retry')
    }
    const patched = claims.patched(state.claim, `fail ${state.seenClaim} ${infeasible}`, () =>
      failedPatch(claims.cached(state.seenClaim), { message: 'no', infeasible }, 0),
    )
    yield* this.#write(state, { name: 'save the failure', object: 'claim', patched, onSaved: finish, onFailed: finish })
  }

  *#saveVolume(state: SizeState, run: In<'saveVolume'>): Moves {
    const { claims, volumes } = this.#objects
    const { nodeStep, answer, pv, before } = run
    const has = giOf(claims.cached(state.seenClaim).capacity) >= answer
    const remember = nodeStep && volumes.cached(pv).preResize === undefined && !has
    const preResize = remember ? preResizeText(claims.cached(before)) : undefined
    const patch = capacityPatch(volumes.cached(state.seenPv), gi(answer), preResize)
    const onSaved = (now: SizeState): SizeState => ({ ...now, run: { ...run, phase: 'saveClaim' } })
    if (patch === undefined) return yield { name: 'the volume has its size', to: onSaved(state), fair: true }
    const patched = volumes.patched(state.pv, `save ${state.seenPv} ${answer} ${preResize}`, () => patch)
    yield* this.#write(state, {
      name: `save volume ${answer}`,
      object: 'pv',
      patched,
      edited: state.edited && giOf(volumes.cached(patched).capacity) !== answer,
      onSaved,
      onFailed: (lost) => end(lost, 'retry'),
    })
  }

  *#saveClaim(state: SizeState, { claim, target, nodeStep, answer }: In<'saveClaim'>): Moves {
    const { claims } = this.#objects
    const [now, marked] = [claims.cached(state.seenClaim), claims.cached(claim)]
    if (now.allocated !== marked.allocated || now.sizeStatus !== marked.sizeStatus) {
      return yield { name: 'the claim has moved on', to: end(state, 'again'), fair: true }
    }
    if (state.seenClaim !== state.claim) {
      return yield { name: 'save claim, conflict', to: this.#objects.seeClaim(state), fair: true }
    }
    yield* this.#write(state, {
      name: 'save claim',
      object: 'claim',
      patched: claims.patched(state.claim, `save ${nodeStep} ${answer}`, () =>
        nodeStep ? nodeStepPatch(now, 0) : finishedPatch(now, gi(answer)),
      ),
      onSaved: (saved) => {
        const sizeToExpandTo = this.#sizeToExpandTo(saved, false)
        if (sizeToExpandTo === undefined) return end(saved, 'settled')
        return end(saved, sizeToExpandTo.equals(gi(target)) ? 'retry' : 'again')
      },
      onFailed: (lost) => end(lost, 'retry'),
    })
  }

  *#write(state: SizeState, { name, object, patched, edited, onSaved, onFailed }: Write): Moves {
    const written = { ...state, [object]: patched, edited: edited ?? state.edited }
    const seen = object === 'claim' ? this.#objects.seeClaim(written) : this.#objects.seePv(written)
    yield { name, to: onSaved(seen), fair: true }
    if (!this.#objects.options.faults) return
    yield { name: `${name}, refused`, to: onFailed(state), fair: false }
    yield { name: `${name}, answer lost`, to: onFailed(written), fair: false }
  }

  #decide(state: SizeState): readonly ResizeStep[] {
    const key = `${state.seenClaim} ${state.seenPv} ${state.finallyFailed} ${state.slow}`
    const step = this.#steps.get(key)
    if (step !== undefined) return step
    const steps = this.#objects.options.decideResize(this.#viewOf(state))
    this.#steps.set(key, steps)
    return steps
  }

  #sizeToExpandTo(state: SizeState, finallyFailed: boolean): Quantity | undefined {
    const key = `${state.seenClaim} ${state.seenPv} ${finallyFailed}`
    if (!this.#sizesToExpandTo.has(key))
      this.#sizesToExpandTo.set(key, sizeToExpandTo({ ...this.#viewOf(state), finallyFailed, nextTryInMs: undefined }))
    return this.#sizesToExpandTo.get(key)
  }

  #viewOf({ seenClaim, seenPv, finallyFailed, slow }: SizeState): ResizeView {
    const { claims, volumes } = this.#objects
    return {
      claim: claims.cached(seenClaim),
      volume: volumes.cached(seenPv),
      finallyFailed,
      nextTryInMs: slow ? 1 : undefined,
      settings: { driverName: DRIVER, driverExpands: true, annotateFsResize: true, nodeDeployment: false },
      now: 0,
    }
  }
}

/** Applies the outcome of a run. If a trigger came during the run, the next run starts at once. */
function end(state: SizeState, outcome: 'settled' | 'retry' | 'again' | 'postponed'): SizeState {
  const ended: SizeState = { ...state, run: undefined }
  switch (outcome) {
    case 'settled':
      return ended
    case 'retry':
      return { ...ended, timer: 'backoff' }
    case 'again':
      return { ...ended, queued: true }
    case 'postponed':
      return { ...ended, timer: 'slow' }
    default:
      return unreachable(outcome)
  }
}

function gi(size: number): Quantity {
  return Quantity.parse(`${size}Gi`)
}
