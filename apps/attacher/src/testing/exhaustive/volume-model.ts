import { addFinalizerPatch, type Patch, PERSISTENT_VOLUMES, type PersistentVolume } from '@csi-sidecars/kube-types'
import { applyPatch, type Model, type Move } from '@csi-sidecars/testkit'
import type { CachedAttachment } from '../../caches/attachment.ts'
import { type CachedVolume, volumeProjection } from '../../caches/volume.ts'
import { hasLostFinalizer, needsFinalizer, releasePatch } from '../../persistent-volume/decide.ts'
import { onAttachmentGone, onVolume } from '../../persistent-volume/triggers.ts'
import { attachment, csi, DRIVER, FINALIZER, withFinalizer } from '../views.ts'

const SETTINGS = { driverName: DRIVER, finalizer: FINALIZER }

/** The triggers and decisions of the attacher. A test breaks one of them, and expects the model to fail. */
export const VOLUME_RULES = {
  releasePatch,
  needsFinalizer,
  hasLostFinalizer,
  onAttachmentGone,
  onVolume: onVolume(SETTINGS),
}
export type VolumeRules = typeof VOLUME_RULES

/** A PersistentVolume as a text of letters. Z: it is being deleted; O: a foreign finalizer; F: our finalizer. */
type Letters = string
/** The state of our VolumeAttachment: not attached yet, attached with our finalizer, or being deleted with it. */
type Use = 'wanted' | 'attached' | 'detaching'

interface Process {
  readonly pv: Letters | null
  readonly use: Use | null
  readonly foreign: boolean
  readonly queued: boolean
  readonly planned: boolean
  readonly finalizerRemoved: boolean
}

/** The objects in the API server, and the state of the process. */
interface State {
  readonly pv: Letters | null
  readonly use: Use | null
  /** True if an attachment of another attacher names the volume too. */
  readonly foreign: boolean
  readonly process: Process | null
  /**
   * The interventions of other writers so far, one letter for each kind. The letter x: our finalizer was removed, and
   * no process could see that.
   */
  readonly done: string
}

/** The model of the finalizer of one PersistentVolume, with an attachment of ours and one of another attacher. */
export function volumeModel(broken: Partial<VolumeRules> = {}): Model<State> {
  const rules = { ...VOLUME_RULES, ...broken }
  return {
    initial: [{ pv: 'O', use: null, foreign: false, process: null, done: '' }],
    keyOf: ({ process, ...state }) => JSON.stringify([Object.values(state), process && Object.values(process)]),
    movesFrom: (state) => [...othersSteps(state), ...processSteps(state, rules)],
    violationOf({ pv, use, done }) {
      const isUsed = use === 'attached' || use === 'detaching'
      return pv === null && isUsed && !done.includes('f') ? 'deleted while it is attached' : undefined
    },
    unfinished,
  }
}

function unfinished({ pv, use, foreign, done }: State): string | undefined {
  if (use === 'detaching') return 'never detached'
  if (pv === null) return undefined
  const isHeld = pv.includes('F')
  if (pv.includes('Z')) return isHeld && use === null && !foreign ? 'not released' : undefined
  if (use === 'wanted') return 'not attached'
  return use === 'attached' && !isHeld && !done.includes('x') ? 'attached without our finalizer' : undefined
}

function othersSteps(state: State): Move<State>[] {
  const { pv, use, foreign, process, done } = state
  const step = (name: string, change: Partial<State>): Move<State> => {
    const to = { ...state, ...change }
    return { name, to: isUnseen(to) ? { ...to, done: withDone(to.done, 'x') } : to, fair: false }
  }
  const once = (letter: string, name: string, change: Partial<State>): Move<State>[] =>
    done.includes(letter) ? [] : [step(name, { ...change, done: withDone(done, letter) })]
  return [
    ...(process === null ? [] : [step('the process is killed', { process: null })]),
    ...(pv === null || pv.includes('Z') ? [] : [step('it is deleted', { pv: stored(`${pv}Z`) })]),
    ...(pv?.includes('O') ? [step('the other finalizer is removed', { pv: stored(pv.replace('O', '')) })] : []),
    ...(pv?.includes('F') ? once('f', 'our finalizer is removed by hand', { pv: stored(pv.replace('F', '')) }) : []),
    ...(use === null ? once('a', 'it is to be attached', { use: 'wanted' }) : []),
    ...(use === 'wanted' ? [step('its attachment is deleted', { use: null })] : []),
    ...(use === 'attached' ? [step('its attachment is deleted', { use: 'detaching' })] : []),
    ...(foreign
      ? [step('the other attachment goes', { foreign: false })]
      : once('o', 'another attacher has it', { foreign: true })),
  ]
}

function withDone(done: string, letter: string): string {
  return done.includes(letter) ? done : [...done, letter].sort().join('')
}

/** Reports whether our finalizer was removed while no process could see it. No process restores it then. */
function isUnseen({ pv, process, done }: State): boolean {
  if (!done.includes('f') || pv === null || pv.includes('F')) return false
  return process === null || !(process.pv?.includes('F') || process.finalizerRemoved)
}

function processSteps(state: State, rules: VolumeRules): Move<State>[] {
  const { process } = state
  if (process === null)
    return [{ name: 'the process starts', to: { ...state, process: started(state, rules) }, fair: true }]
  const to = (name: string, next: Process, fair = true): Move<State> => ({
    name,
    to: { ...state, process: next },
    fair,
  })
  return [
    ...(process.pv === state.pv ? [] : [to('the watch brings it', seen(process, state.pv, rules))]),
    ...(process.use === state.use ? [] : [to('the watch brings its attachment', seenUse(process, state.use, rules))]),
    ...(process.foreign === state.foreign
      ? []
      : [to('the watch brings the other attachment', seenForeign(process, state.foreign, rules))]),
    ...attachSteps({ ...state, process }, rules),
    ...(process.queued || process.planned ? releaseSteps({ ...state, process }, rules) : []),
  ]
}

type Running = State & { readonly process: Process }

/** Returns the next steps of the attachment controller that concern the PersistentVolume. */
function attachSteps(state: Running, rules: VolumeRules): Move<State>[] {
  const { process, use } = state
  if (process.use === 'detaching') {
    const next = { ...state, use: use === 'detaching' ? null : use }
    return [{ name: 'it is detached', to: { ...next, process: seenUse(process, next.use, rules) }, fair: true }]
  }
  if (process.use !== 'wanted' || process.pv === null || process.pv.includes('Z')) return []
  const withFinalizer = process.pv.includes('F')
    ? state
    : written(state, ({ finalizers }) => addFinalizerPatch(finalizers, FINALIZER), rules)
  if (withFinalizer === undefined || withFinalizer.process.pv?.includes('F') !== true) {
    return withFinalizer === undefined
      ? []
      : [{ name: 'its attach finds another state', to: withFinalizer, fair: true }]
  }
  const attached: Use | null = use === 'wanted' ? 'attached' : use
  const done = { ...withFinalizer, use: attached, process: seenUse(withFinalizer.process, attached, rules) }
  return [
    { name: 'it is attached', to: done, fair: true },
    { name: 'it is held, and the attach fails', to: withFinalizer, fair: false },
    { name: 'it is held, the answer lost', to: { ...withFinalizer, process }, fair: false },
  ]
}

/** Returns the outcomes of a run that removes or restores our finalizer on the PersistentVolume. */
function releaseSteps(state: Running, rules: VolumeRules): Move<State>[] {
  const process = { ...state.process, queued: false, planned: false }
  const dequeued = { ...state, process }
  const step = (name: string, to: State, fair = true): Move<State> => ({ name, to, fair })
  if (process.pv === null) return [step('there is nothing to release', dequeued)]
  const pv = volumeOf(process.pv)
  const users = usersOf(process)
  const restores = process.finalizerRemoved && rules.needsFinalizer(pv, users, SETTINGS)
  const change = (cached: CachedVolume): Patch | undefined =>
    restores ? addFinalizerPatch(cached.finalizers, FINALIZER) : rules.releasePatch(cached, users, SETTINGS)
  if (change(pv) === undefined) return [step('it is kept', dequeued)]
  const name = restores ? 'restored' : 'released'
  const after = written(dequeued, change, rules)
  const failed = { ...dequeued, process: { ...process, planned: true } }
  return [
    step(`it is ${name}`, after ?? dequeued),
    step(`it is not ${name}`, failed, false),
    step(`it is ${name}, the answer lost`, after === undefined ? failed : { ...after, process: failed.process }, false),
  ]
}

/**
 * Applies the patch that is built from the cached volume. If one of its tests fails, the stored volume enters the cache
 * and the run is repeated. Undefined if the volume is gone.
 */
function written(
  state: Running,
  change: (pv: CachedVolume) => Patch | undefined,
  rules: VolumeRules,
): Running | undefined {
  const { pv, process } = state
  const patch = process.pv === null ? undefined : change(volumeOf(process.pv))
  if (pv === null || patch === undefined) return undefined
  const after = applied(pv, patch)
  if (after === undefined) return { ...state, process: { ...seen(process, pv, rules), planned: true } }
  return { ...state, pv: after, process: seen(process, after, rules) }
}

/** Returns the volume after the patch. Undefined if the API server refuses the patch. */
function applied(pv: Letters, patch: Patch): Letters | null | undefined {
  try {
    const { metadata } = applyPatch(wireOf(pv), patch, {
      resource: PERSISTENT_VOLUMES,
      errorOf: () => new Error('refused'),
    })
    const after = ['O', 'F'].filter((letter) => metadata?.finalizers?.includes(nameOf(letter))).join('')
    const isAdded = after.includes('F') && !pv.includes('F')
    return isAdded && pv.includes('Z') ? undefined : stored(after + (pv.includes('Z') ? 'Z' : ''))
  } catch {
    return undefined
  }
}

/** Returns the volume that the API server stores. Null if it is being deleted and has no finalizers. */
function stored(pv: Letters): Letters | null {
  return pv.includes('Z') && !/[OF]/.test(pv) ? null : ['O', 'F', 'Z'].filter((letter) => pv.includes(letter)).join('')
}

function started({ pv, use, foreign }: State, { onVolume: trigger }: VolumeRules): Process {
  const queued = pv !== null && [...trigger({ type: 'added', object: volumeOf(pv) })].length > 0
  return { pv, use, foreign, queued, planned: false, finalizerRemoved: false }
}

function seen(process: Process, pv: Letters | null, rules: VolumeRules): Process {
  const before = process.pv
  if (before === pv || before === null) return process
  if (pv === null) return { ...process, pv, queued: false, planned: false, finalizerRemoved: false }
  const event = { type: 'updated', before: volumeOf(before), after: volumeOf(pv), origin: 'change' } as const
  const finalizerRemoved = process.finalizerRemoved || rules.hasLostFinalizer(event, SETTINGS)
  return {
    ...process,
    pv,
    finalizerRemoved,
    queued: process.queued || [...rules.onVolume(event)].length > 0,
  }
}

function seenUse(process: Process, use: Use | null, { onAttachmentGone: trigger }: VolumeRules): Process {
  const isGone = process.use !== null && use === null
  const keys = isGone ? [...trigger({ type: 'deleted', object: attachmentOf(process.use) })] : []
  return { ...process, use, queued: process.queued || keys.length > 0 }
}

function seenForeign(process: Process, foreign: boolean, { onAttachmentGone: trigger }: VolumeRules): Process {
  const keys = foreign ? [] : [...trigger({ type: 'deleted', object: FOREIGN })]
  return { ...process, foreign, queued: process.queued || keys.length > 0 }
}

const FOREIGN = attachment({ key: 'foreign', ours: false })

function usersOf({ use, foreign }: Process): readonly CachedAttachment[] {
  return [...(use === null ? [] : [attachmentOf(use)]), ...(foreign ? [FOREIGN] : [])]
}

function attachmentOf(use: Use | null): CachedAttachment {
  return use === 'wanted' ? attachment() : withFinalizer({ attached: true, deleting: use === 'detaching' })
}

const project = volumeProjection(DRIVER)
const projected = new Map<Letters, CachedVolume>()

function volumeOf(letters: Letters): CachedVolume {
  const remembered = projected.get(letters) ?? project(wireOf(letters))
  projected.set(letters, remembered)
  return remembered
}

function nameOf(letter: string): string {
  return letter === 'F' ? FINALIZER : 'example.com/other'
}

function wireOf(letters: Letters): PersistentVolume {
  const finalizers = ['O', 'F'].filter((letter) => letters.includes(letter)).map(nameOf)
  return {
    metadata: {
      name: 'pv1',
      uid: 'pv1-uid',
      ...(finalizers.length > 0 && { finalizers }),
      ...(letters.includes('Z') && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    spec: { accessModes: ['ReadWriteOnce'], csi: csi() },
  }
}
