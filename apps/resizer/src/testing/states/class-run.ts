import { unreachable } from '@csi-sidecars/base'
import type { Move } from '@csi-sidecars/testkit'
import { MODIFY_STATUS } from '../../caches/names.ts'
import { projectClass } from '../../caches/open.ts'
import type { ModifyStep } from '../../modify/decide.ts'
import { classPatch, failedPatch, modifiedPatch } from '../../modify/patches.ts'
import { attributesClass } from '../builders.ts'
import type { ClassObjects, ClassRunState, ClassState } from './class-state.ts'

type In<P extends ClassRunState['phase']> = ClassRunState & { readonly phase: P }
type Moves = Generator<Move<ClassState>>

interface Write {
  readonly name: string
  readonly object: 'claim' | 'pv'
  /** The number of the object after the write: see `Numbered`. */
  readonly patched: number
  /** True if the API server refuses the write of a process with an outdated cache. */
  readonly requiresVersion?: boolean
  readonly onSaved: (state: ClassState) => ClassState
  readonly onFailed?: (state: ClassState) => ClassState
}

const ERROR = { reason: 'Internal', message: 'no' } as const

/** The model of a run over a claim: the steps of `reconcile.ts` and `record.ts`, with real decisions and patches. */
export class ClassRun {
  readonly #objects: ClassObjects
  /** The cached decisions, by their inputs. */
  readonly #steps = new Map<string, readonly ModifyStep[]>()

  constructor(objects: ClassObjects) {
    this.#objects = objects
  }

  *movesFrom(state: ClassState): Moves {
    const { run } = state
    if (run === undefined) {
      const to: ClassState = { ...state, queued: false, backoff: false, run: { phase: 'begin' } }
      if (state.queued) yield { name: 'run', to, fair: true }
      return
    }
    switch (run.phase) {
      case 'begin':
        return yield* this.#begin(state)
      case 'saveFailure':
        return yield* this.#saveFailure(state, run)
      case 'call':
        return yield* this.#call(state, run.target)
      case 'saveVolume':
        return yield* this.#saveVolume(state, run.target)
      case 'saveClaim':
        return yield* this.#saveClaim(state, run.target)
      default:
        unreachable(run)
    }
  }

  *#begin(state: ClassState): Moves {
    let now = state
    for (const step of this.#decide(state)) {
      switch (step.kind) {
        case 'forgetRefusal':
          now = { ...now, isRetriedRarely: false }
          break
        case 'skip':
          return yield { name: step.kind, to: end(now, 'retry'), fair: true }
        case 'noop':
          return yield { name: step.why, to: end({ ...now, waitsFor: '' }, 'settled'), fair: true }
        case 'stall':
          return yield { name: step.kind, to: end({ ...now, waitsFor: step.className }, 'retry'), fair: true }
        case 'cancel':
          return yield* this.#patch({ ...now, waitsFor: '' }, step, false)
        case 'pend':
          now = { ...now, waitsFor: step.className }
          if (step.patch === undefined) return yield { name: step.kind, to: end(now, 'settled'), fair: true }
          return yield* this.#patch(now, { ...step, patch: step.patch }, true)
        case 'start':
          return yield* this.#start({ ...now, waitsFor: '' }, step)
        case 'modify':
          now = { ...now, waitsFor: '', run: { phase: 'call', target: step.target.key } }
          return yield { name: `carry on with ${step.target.key}`, to: now, fair: true }
        default:
          throw new Error(`a step that this model has no reason for: ${step.kind}`)
      }
    }
  }

  /** Returns the possible results of a patch that ends the run. */
  *#patch(
    state: ClassState,
    { kind: name, patch }: ModifyStep & { kind: 'cancel' | 'pend' },
    requiresVersion: boolean,
  ): Moves {
    const patched = this.#objects.claims.patched(state.claim, `${name} ${state.seenClaim}`, () => patch ?? { body: {} })
    const onSaved = (now: ClassState): ClassState => end(now, 'settled')
    yield* this.#write(state, { name, object: 'claim', patched, requiresVersion, onSaved })
  }

  *#start(state: ClassState, { patch, className }: ModifyStep & { kind: 'start' }): Moves {
    const patched = this.#objects.claims.patched(state.claim, `start ${className} ${state.seenClaim}`, () => patch)
    const onSaved = (now: ClassState): ClassState => ({ ...now, run: { phase: 'call', target: className } })
    yield* this.#write(state, { name: `start ${className}`, object: 'claim', patched, requiresVersion: true, onSaved })
  }

  *#call(state: ClassState, target: string): Moves {
    const { changing, has } = state
    const wrong =
      changing !== '' && changing !== target ? `${target} is asked for while ${changing} may be on its way` : undefined
    const certain = { ...state, wrong, changing: '', uncertain: false }
    const done: ClassState = { ...certain, has: target, isRetriedRarely: false, run: { phase: 'saveVolume', target } }
    yield { name: 'driver is done', to: done, fair: true }
    for (const kind of ['infeasible', 'final'] as const) {
      const to: ClassState = {
        ...certain,
        isRetriedRarely: kind === 'infeasible',
        run: { phase: 'saveFailure', target, kind },
      }
      yield { name: kind, to, fair: false }
    }
    for (const each of new Set([has, target])) {
      const result = each === has ? 'without effect' : 'carried out'
      const unsure = { ...state, wrong, changing: target, has: each, uncertain: true, isRetriedRarely: false }
      const to: ClassState = { ...unsure, run: { phase: 'saveFailure', target, kind: 'uncertain' } }
      yield { name: `no answer, ${result}`, to, fair: false }
      yield { name: `driver lost, ${result}`, to: end(unsure, 'retry'), fair: false }
      if (!this.#objects.options.faults) continue
      yield { name: `crash in the call, ${result}`, to: this.#objects.crashed(unsure), fair: false }
    }
  }

  *#saveFailure(state: ClassState, { target, kind }: In<'saveFailure'>): Moves {
    const { claims } = this.#objects
    const { modifyVolumeStatus } = claims.cached(state.seenClaim)
    const onSaved = (now: ClassState): ClassState => {
      const { wantedClass } = claims.cached(now.seenClaim)
      const other = kind !== 'uncertain' && wantedClass !== '' && wantedClass !== target
      return other ? end({ ...now, isRetriedRarely: false }, 'again') : end(now, 'retry')
    }
    if (modifyVolumeStatus?.status !== MODIFY_STATUS.inProgress || modifyVolumeStatus.target !== target) {
      return yield { name: 'the claim has moved on', to: onSaved(state), fair: true }
    }
    const key = `fail ${target} ${kind} ${state.seenClaim}`
    const patched = claims.patched(state.claim, key, () =>
      failedPatch(claims.cached(state.seenClaim), { target, error: { kind, ...ERROR } }, 0),
    )
    const onFailed = (now: ClassState): ClassState => end({ ...now, isRetriedRarely: false }, 'retry')
    yield* this.#write(state, {
      name: 'save the failure',
      object: 'claim',
      patched,
      requiresVersion: true,
      onSaved,
      onFailed,
    })
  }

  *#saveVolume(state: ClassState, target: string): Moves {
    const { volumes } = this.#objects
    const patch = classPatch(volumes.cached(state.seenPv), target)
    const onSaved = (now: ClassState): ClassState => ({ ...now, run: { phase: 'saveClaim', target } })
    if (patch === undefined) return yield { name: 'the volume has its class', to: onSaved(state), fair: true }
    const patched = volumes.patched(state.pv, `save ${target} ${state.seenPv}`, () => patch)
    yield* this.#write(state, { name: `save volume ${target}`, object: 'pv', patched, onSaved })
  }

  *#saveClaim(state: ClassState, target: string): Moves {
    const { claims } = this.#objects
    const patched = claims.patched(state.claim, `save ${target} ${state.seenClaim}`, () =>
      modifiedPatch(claims.cached(state.seenClaim), target),
    )
    const onSaved = (now: ClassState): ClassState => end(now, 'settled')
    yield* this.#write(state, { name: `save claim ${target}`, object: 'claim', patched, onSaved })
  }

  *#write(state: ClassState, { name, object, patched, requiresVersion = false, onSaved, onFailed }: Write): Moves {
    if (requiresVersion && state.seenClaim !== state.claim) {
      // After a conflict, the claim is read and the steps are decided again.
      return yield { name: `${name}, conflict`, to: this.#objects.seeClaim(state), fair: true }
    }
    const written = { ...state, [object]: patched }
    const seen = object === 'claim' ? this.#objects.seeClaim(written) : { ...written, seenPv: patched }
    yield { name, to: onSaved(seen), fair: true }
    if (!this.#objects.options.faults) return
    const failed = onFailed ?? ((lost: ClassState) => end(lost, 'retry'))
    yield { name: `${name}, refused`, to: failed(state), fair: false }
    // Because the answer to the write was lost, the next run reads the claim first.
    yield { name: `${name}, answer lost`, to: failed(seen), fair: false }
  }

  #decide({ seenClaim, seenPv, bronze, uncertain, isRetriedRarely }: ClassState): readonly ModifyStep[] {
    const key = `${seenClaim} ${seenPv} ${bronze} ${uncertain} ${isRetriedRarely}`
    const step = this.#steps.get(key)
    if (step !== undefined) return step
    const { claims, volumes } = this.#objects
    const steps = this.#objects.options.decideModify({
      claim: claims.cached(seenClaim),
      volume: volumes.cached(seenPv),
      classOf: (name) => (name !== 'bronze' || bronze ? projectClass(attributesClass(name)) : undefined),
      uncertain,
      isRetriedRarely,
      isClassReported: () => false,
      nodeDeployment: false,
      now: 0,
    })
    this.#steps.set(key, steps)
    return steps
  }
}

/** Applies the outcome of a run. If a trigger came during the run, the next run starts at once. */
function end(state: ClassState, outcome: 'settled' | 'retry' | 'again'): ClassState {
  const { queued } = state
  return { ...state, run: undefined, queued: queued || outcome === 'again', backoff: outcome === 'retry' }
}
