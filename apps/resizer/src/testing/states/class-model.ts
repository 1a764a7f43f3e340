import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from '@csi-sidecars/kube-types'
import type { Model, Move } from '@csi-sidecars/testkit'
import { projectClaim, type ResizerClaim } from '../../caches/claim.ts'
import { CONDITION, MODIFY_STATUS } from '../../caches/names.ts'
import { type ResizerVolume, volumeProjection } from '../../caches/volume.ts'
import { claim, DRIVER, volume } from '../builders.ts'
import { ClassRun } from './class-run.ts'
import { type ClassObjects, type ClassOptions, type ClassState, REAL } from './class-state.ts'
import { Numbered } from './numbered.ts'

/** The model of one claim's class, with a user, a driver, a class that is created late, and the real decisions. */
export class ClassModel implements Model<ClassState>, ClassObjects {
  readonly claims = new Numbered<PersistentVolumeClaim, ResizerClaim>(PERSISTENT_VOLUME_CLAIMS, (wire) =>
    projectClaim(wire),
  )
  readonly volumes = new Numbered<PersistentVolume, ResizerVolume>(PERSISTENT_VOLUMES, (wire) =>
    volumeProjection(DRIVER)(wire),
  )
  readonly options: ClassOptions
  readonly initial: readonly ClassState[]
  readonly #run = new ClassRun(this)

  constructor(options: ClassOptions = REAL) {
    this.options = options
    const begin = { claim: this.claims.of(claim()), pv: this.volumes.of(volume()), bronze: false }
    const seen = { seenClaim: begin.claim, seenPv: begin.pv }
    const memory = {
      uncertain: false,
      isRetriedRarely: false,
      queued: true,
      backoff: false,
      waitsFor: '',
      run: undefined,
    }
    this.initial = [{ ...begin, ...seen, has: '', changing: '', ...memory, wrong: undefined }]
  }

  *movesFrom(state: ClassState): Generator<Move<ClassState>> {
    const { claim: number, pv, seenClaim, seenPv, backoff, isRetriedRarely } = state
    if (seenClaim !== number) yield { name: 'claim event', to: this.seeClaim(state), fair: true }
    if (seenPv !== pv) yield { name: 'volume event', to: { ...state, seenPv: pv }, fair: true }
    if (backoff) yield { name: 'back-off is over', to: { ...state, queued: true, backoff: false }, fair: true }
    if (isRetriedRarely) yield { name: 'slow is over', to: { ...state, isRetriedRarely: false }, fair: true }
    yield* this.#run.movesFrom(state)
    yield* this.#users(state)
    if (this.options.faults) yield { name: 'crash', to: this.crashed(state), fair: false }
  }

  /** Reports whether nothing is pending, and claim, volume and back end have the requested class. */
  isGoal(state: ClassState): boolean {
    const { claim: number, pv, seenClaim, seenPv, queued, backoff, run, has } = state
    if (queued || backoff || run !== undefined || seenClaim !== number || seenPv !== pv) return false
    const { wantedClass, currentClass, modifyVolumeStatus, conditions = [] } = this.claims.cached(number)
    if (conditions.some(({ type }) => type === CONDITION.modifyingVolume)) return false
    // The user has withdrawn the request. The failure stays in the status, as in the Go resizer.
    if (wantedClass === '') return modifyVolumeStatus?.status !== MODIFY_STATUS.inProgress
    if (modifyVolumeStatus !== undefined || conditions.length > 0 || this.volumes.cached(pv).className !== wantedClass)
      return false
    return currentClass === wantedClass && has === wantedClass
  }

  violationOf({ wrong }: ClassState): string | undefined {
    return wrong
  }

  show(state: ClassState): unknown {
    const { claim: number, seenClaim, pv, seenPv, run, ...rest } = state
    const claimOf = (each: number): unknown => {
      const { wantedClass, currentClass, modifyVolumeStatus, conditions } = this.claims.cached(each)
      return {
        wantedClass,
        currentClass,
        modifying: modifyVolumeStatus,
        conditions: conditions?.map(({ type }) => type),
      }
    }
    const [classOf, seenClassOf] = [pv, seenPv].map((each) => this.volumes.cached(each).className)
    const seen = seenClaim === number || claimOf(seenClaim)
    return { claim: claimOf(number), seen, classOf, seenClassOf, run: run?.phase, ...rest }
  }

  seeClaim(state: ClassState): ClassState {
    const { claim: number, seenClaim } = state
    if (number === seenClaim) return state
    const [before, after] = [this.claims.cached(seenClaim), this.claims.cached(number)]
    const keys = [...this.options.onClaim({ type: 'updated', before, after, origin: 'change' })]
    return { ...state, seenClaim: number, queued: state.queued || keys.length > 0 }
  }

  crashed(state: ClassState): ClassState {
    const { claim: seenClaim, pv: seenPv } = state
    const uncertain = this.claims.cached(seenClaim).modifyVolumeStatus?.status === MODIFY_STATUS.inProgress
    const memory = { uncertain, isRetriedRarely: false, queued: true, backoff: false, waitsFor: '', run: undefined }
    return { ...state, seenClaim, seenPv, ...memory }
  }

  /** Returns the next steps of users. A request for a class can be withdrawn only while the volume has no class yet. */
  *#users(state: ClassState): Generator<Move<ClassState>> {
    const { wantedClass, currentClass } = this.claims.cached(state.claim)
    for (const name of this.options.classes) {
      if (name === wantedClass || (name === '' && currentClass !== '')) continue
      const body = { spec: { volumeAttributesClassName: name === '' ? null : name } }
      const number = this.claims.patched(state.claim, `want ${name}`, () => ({ body }))
      yield { name: `user wants ${name || 'none'}`, to: { ...state, claim: number }, fair: false }
    }
    if (!this.options.classes.includes('bronze')) return
    if (state.bronze) yield { name: 'bronze is deleted', to: { ...state, bronze: false }, fair: false }
    else yield { name: 'bronze is created', to: this.#created(state), fair: true }
  }

  /**
   * Creates the class bronze. Claims that wait for the class run again. If the driver refused a deleted class of the
   * same name, the resizer forgets the refusal.
   */
  #created(state: ClassState): ClassState {
    const remade = this.claims.cached(state.seenClaim).modifyVolumeStatus?.target === 'bronze'
    const woken = state.waitsFor === 'bronze' && this.options.wakes
    const memory = remade ? { isRetriedRarely: false } : {}
    return { ...state, bronze: true, ...memory, queued: state.queued || remade || woken }
  }
}
