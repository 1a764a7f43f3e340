import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from '@csi-sidecars/kube-types'
import type { Model, Move } from '@csi-sidecars/testkit'
import { projectClaim, type ResizerClaim } from '../../caches/claim.ts'
import { CONDITION, SIZE_STATUS } from '../../caches/names.ts'
import { type ResizerVolume, volumeProjection } from '../../caches/volume.ts'
import { claim, DRIVER, volume } from '../builders.ts'
import { Numbered } from './numbered.ts'
import { SizeRun } from './size-run.ts'
import { giOf, REAL, type SizeObjects, type SizeOptions, type SizeState } from './size-state.ts'

const OF_RESIZE: ReadonlySet<string> = new Set([
  CONDITION.resizing,
  CONDITION.nodeStepPending,
  CONDITION.controllerError,
  CONDITION.nodeError,
])

/** The model of one claim's size, with users, an administrator, a driver, a kubelet, and the real decisions. */
export class SizeModel implements Model<SizeState>, SizeObjects {
  readonly claims = new Numbered<PersistentVolumeClaim, ResizerClaim>(PERSISTENT_VOLUME_CLAIMS, (wire) =>
    projectClaim(wire),
  )
  readonly volumes = new Numbered<PersistentVolume, ResizerVolume>(PERSISTENT_VOLUMES, (wire) =>
    volumeProjection(DRIVER)(wire),
  )
  readonly options: SizeOptions
  readonly initial: readonly SizeState[]
  readonly #run = new SizeRun(this)

  constructor(options: SizeOptions = REAL) {
    this.options = options
    const begin = { claim: this.claims.of(claim()), pv: this.volumes.of(volume()) }
    this.initial = [
      {
        ...begin,
        seenClaim: begin.claim,
        seenPv: begin.pv,
        size: 1,
        edited: false,
        editsLeft: options.edits,
        growing: 0,
        finallyFailed: false,
        slow: false,
        queued: true,
        timer: 'none',
        run: undefined,
        wrong: undefined,
      },
    ]
  }

  *movesFrom(state: SizeState): Generator<Move<SizeState>> {
    yield* this.#events(state)
    yield* this.#run.movesFrom(state)
    yield* this.#kubelet(state)
    yield* this.#users(state)
    if (this.options.faults) yield { name: 'crash', to: this.crashed(state), fair: false }
  }

  /** Reports whether nothing is pending, the claim has the requested size, and its status shows no expansion. */
  isGoal(state: SizeState): boolean {
    const { claim: number, pv, seenClaim, seenPv, queued, timer, run, size, editsLeft } = state
    if (queued || timer !== 'none' || run !== undefined || seenClaim !== number || seenPv !== pv) return false
    const { request, capacity, sizeStatus, conditions = [] } = this.claims.cached(number)
    if (giOf(capacity) < giOf(request) || sizeStatus !== undefined) return false
    if (conditions.some(({ type }) => OF_RESIZE.has(type))) return false
    const { capacity: volumeCapacity, preResize } = this.volumes.cached(pv)
    // After an administrator's edit, the volume may be larger than its claim until the kubelet mounts it again.
    const wasEdited = editsLeft < this.options.edits
    const left = giOf(volumeCapacity) > giOf(capacity)
    if (preResize !== undefined && !(wasEdited && left)) return false
    return wasEdited ? giOf(capacity) <= size : giOf(capacity) === size && giOf(volumeCapacity) === size
  }

  /** Returns the rule that a state violates: an object must never show a larger size than the back end has. */
  violationOf({ wrong, claim: number, pv, size, edited }: SizeState): string | undefined {
    if (wrong !== undefined) return wrong
    const [claimSize, volumeSize] = [this.claims.cached(number).capacity, this.volumes.cached(pv).capacity]
    if (giOf(claimSize) > size) return `the claim has ${claimSize} where there are ${size}Gi`
    return !edited && giOf(volumeSize) > size ? `the volume has ${volumeSize} where there are ${size}Gi` : undefined
  }

  show(state: SizeState): unknown {
    const { seenClaim, seenPv, claim: number, pv, run, ...rest } = state
    const capacityOf = (each: number): unknown => {
      const { capacity, preResize } = this.volumes.cached(each)
      return { capacity, preResize }
    }
    const claimOf = (each: number): unknown => {
      const { request, capacity, allocated, sizeStatus, conditions } = this.claims.cached(each)
      return { request, capacity, allocated, sizeStatus, conditions: conditions?.map(({ type }) => type) }
    }
    return {
      claim: claimOf(number),
      seen: seenClaim === number || claimOf(seenClaim),
      pv: capacityOf(pv),
      seenPv: seenPv === pv || capacityOf(seenPv),
      run: run?.phase,
      ...rest,
    }
  }

  seeClaim(state: SizeState): SizeState {
    const { claim: number, seenClaim } = state
    if (number === seenClaim) return state
    const [before, after] = [this.claims.cached(seenClaim), this.claims.cached(number)]
    const isInWork = (): boolean => state.run !== undefined
    const keys = [...this.options.onClaim({ type: 'updated', before, after, origin: 'change' }, { isInWork })]
    return { ...state, seenClaim: number, queued: state.queued || keys.length > 0 }
  }

  seePv(state: SizeState): SizeState {
    const { pv, seenPv } = state
    if (pv === seenPv) return state
    const [before, after] = [this.volumes.cached(seenPv), this.volumes.cached(pv)]
    const isInWork = (): boolean => state.run !== undefined
    const keys = [...this.options.onVolume({ type: 'updated', before, after, origin: 'change' }, { isInWork })]
    return { ...state, seenPv: pv, queued: state.queued || keys.length > 0 }
  }

  crashed(state: SizeState): SizeState {
    const { claim: number, pv } = state
    const memory = { finallyFailed: false, slow: false, queued: true, timer: 'none', run: undefined } as const
    return { ...state, seenClaim: number, seenPv: pv, ...memory }
  }

  *#events(state: SizeState): Generator<Move<SizeState>> {
    const { claim: number, pv, seenClaim, seenPv, timer, slow } = state
    if (seenClaim !== number) yield { name: 'claim event', to: this.seeClaim(state), fair: true }
    if (seenPv !== pv) yield { name: 'volume event', to: this.seePv(state), fair: true }
    if (timer !== 'none') {
      const over = timer === 'slow' ? { slow: false } : {}
      yield { name: `${timer} is over`, to: { ...state, ...over, queued: true, timer: 'none' }, fair: true }
    } else if (slow) yield { name: 'slow is over', to: { ...state, slow: false }, fair: true }
  }

  /** Returns the kubelet's next steps. Its expansion fails for good if the volume is smaller than the object shows. */
  *#kubelet(state: SizeState): Generator<Move<SizeState>> {
    const status = this.claims.cached(state.claim).sizeStatus
    const { pending, begun } = { pending: SIZE_STATUS.nodePending, begun: SIZE_STATUS.nodeInProgress }
    if (status !== pending && status !== begun) return
    const capacity = this.volumes.cached(state.pv).capacity ?? ''
    const enough = giOf(capacity) <= state.size
    if (status === pending)
      yield this.#edit(state, { name: 'kubelet begins', body: { status: withStatus(begun) }, fair: true })
    const failure = {
      status: {
        ...withStatus(SIZE_STATUS.nodeInfeasible),
        conditions: [{ type: CONDITION.nodeError, status: 'True' }],
      },
    }
    if (status === begun) yield this.#edit(state, { name: 'kubelet fails', body: failure, fair: !enough })
    if (!enough) return
    const conditions = [...OF_RESIZE].map((type) => ({ type, $patch: 'delete' }))
    const done = { capacity: { storage: capacity }, ...withStatus(null), conditions }
    yield this.#edit(state, { name: 'kubelet is done', body: { status: done }, fair: true })
  }

  /** Returns the next steps of users and of an administrator. A request must stay above the capacity of the claim. */
  *#users(state: SizeState): Generator<Move<SizeState>> {
    const { sizes } = this.options
    const { request, capacity } = this.claims.cached(state.claim)
    for (const gi of sizes) {
      if (gi === giOf(request) || (gi < giOf(request) && gi <= giOf(capacity))) continue
      const body = { spec: { resources: { requests: { storage: `${gi}Gi` } } } }
      yield this.#edit(state, { name: `user asks for ${gi}`, body, fair: false })
    }
    const quiet =
      state.run === undefined && !state.queued && state.seenClaim === state.claim && state.seenPv === state.pv
    if (state.editsLeft === 0 || !quiet) return
    const { capacity: volumeCapacity } = this.volumes.cached(state.pv)
    for (const gi of sizes) {
      if (gi === giOf(volumeCapacity)) continue
      const pv = this.volumes.patched(state.pv, `edit ${gi}`, () => ({
        body: { spec: { capacity: { storage: `${gi}Gi` } } },
      }))
      const to = { ...state, pv, edited: true, editsLeft: state.editsLeft - 1 }
      yield { name: `administrator edits the volume to ${gi}`, to, fair: false }
    }
  }

  #edit(state: SizeState, { name, body, fair }: Edit): Move<SizeState> {
    return {
      name,
      to: { ...state, claim: this.claims.patched(state.claim, `${name} ${state.pv}`, () => ({ body })) },
      fair,
    }
  }
}

interface Edit {
  readonly name: string
  readonly body: object
  readonly fair: boolean
}

function withStatus(storage: string | null): object {
  return { allocatedResourceStatuses: { storage } }
}
