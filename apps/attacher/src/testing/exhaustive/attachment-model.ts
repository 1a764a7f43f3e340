import type { Model, Move } from '@csi-sidecars/testkit'
import { has, type Letters, withLetter, without } from './attachment-object.ts'
import { orphanSteps, type RunningState, runSteps } from './attachment-run.ts'
import {
  ATTACHMENT_RULES,
  type AttachmentModelProcess,
  type AttachmentModelState,
  type AttachmentRules,
  begun,
  changed,
  compared,
  isKnown,
  seen,
  started,
} from './attachment-state.ts'

/**
 * The choices that limit the states of an `attachmentModel`. A test sets `rules` to replace single triggers or
 * decisions by broken ones.
 */
export interface AttachmentModelOptions {
  /** The letters of the VolumeAttachment when it is created. O: it has a foreign finalizer; empty: it has none. */
  readonly created: Letters
  /** True if the driver lists published nodes. */
  readonly lists: boolean
  /** The limit of interventions by other writers. Each kind happens at most once. */
  readonly most: number
  readonly rules?: Partial<AttachmentRules>
}

/** The model of one attachment with its volume and its node, from its creation on. */
export function attachmentModel({
  created,
  lists,
  most,
  rules: broken = {},
}: AttachmentModelOptions): Model<AttachmentModelState> {
  const options: Options = { lists, most, rules: { ...ATTACHMENT_RULES, ...broken } }
  const initial = { va: created, pv: true, node: true, published: false, process: null, done: '', excused: false }
  return {
    initial: [initial],
    keyOf,
    movesFrom: (state) => [...othersSteps(state, options), ...processSteps(state, options)],
    violationOf: (state) =>
      state.published && !isKnown(state) && !state.excused ? 'published, and nothing knows it' : undefined,
    unfinished: (state) => unfinished(state, lists),
  }
}

function keyOf({ va, pv, node, published, process, done, excused }: AttachmentModelState): string {
  const state = `${va} ${+pv}${+node}${+published}${+excused} ${done}`
  if (process === null) return state
  const { cached, queued, planned, waits, listing, mustWriteStatus, finalizerRemoved, publication, orphaned, run } =
    process
  const flags = `${+queued}${+planned}${+mustWriteStatus}${+finalizerRemoved}${+publication}${+orphaned}`
  return `${state} ${cached} ${flags} ${waits} ${listing} ${run?.operation} ${run?.todo.join()}`
}

interface Options {
  readonly lists: boolean
  readonly most: number
  readonly rules: AttachmentRules
}

/** Returns the next steps of users, attach/detach controller and storage, and the step that kills the attacher. */
function othersSteps(state: AttachmentModelState, { lists, most, rules }: Options): Move<AttachmentModelState>[] {
  const { va, pv, node, published, process, done } = state
  const step = (name: string, change: Partial<AttachmentModelState>): Move<AttachmentModelState> => ({
    name,
    to: excused({ ...state, ...change }),
    fair: false,
  })
  const once = (letter: string, name: string, change: Partial<AttachmentModelState>): Move<AttachmentModelState>[] =>
    done.includes(letter) || done.replace('k', '').length >= most
      ? []
      : [step(name, { ...change, done: withDone(done, letter) })]
  const withCaches = (kind: 'pv' | 'node', comes: boolean): Partial<AttachmentModelState> => ({
    [kind]: comes,
    process: process && changed(process, { kind, comes }, rules),
  })
  return [
    ...(process === null ? [] : [step('the process is killed', { process: null, done: killed(state) })]),
    ...(va !== null && !has(va, 'Z') ? [step('it is deleted', { va: released(withLetter(va, 'Z')) })] : []),
    ...(has(va, 'O') ? [step('the other finalizer is removed', { va: released(without(va ?? '', 'O')) })] : []),
    ...(has(va, 'F') ? once('f', 'our finalizer is removed by hand', { va: released(without(va ?? '', 'F')) }) : []),
    ...(has(va, 'A') && !has(va, 'Z') ? once('r', 'attached is reset by hand', { va: without(va ?? '', 'A') }) : []),
    ...(pv
      ? once('v', 'the volume goes', withCaches('pv', false))
      : [step('the volume comes', withCaches('pv', true))]),
    ...(node
      ? once('n', 'the node goes', withCaches('node', false))
      : [step('the node comes', withCaches('node', true))]),
    ...(lists && published ? once('d', 'the back end detaches it', { published: false }) : []),
  ]
}

/** Returns `done` after a kill. Adds `k` if only a listing can show a new process that the status is outdated. */
function killed({ va, done }: AttachmentModelState): string {
  const isStale = has(va, 'Z') ? !has(va, 'F') && hasStatus(va) : has(va, 'A') && has(va, 'X')
  return isStale && !done.includes('k') ? withDone(done, 'k') : done
}

function hasStatus(va: Letters | null): boolean {
  return va !== null && /[AMD]/.test(va)
}

function withDone(done: string, letter: string): string {
  return [...done, letter].sort().join('')
}

function released(va: Letters): Letters | null {
  return has(va, 'Z') && !has(va, 'O') && !has(va, 'F') ? null : va
}

/** Sets `excused` if a user has removed our finalizer and no process can know that the volume is still published. */
function excused(state: AttachmentModelState): AttachmentModelState {
  const isLost = state.done.includes('f') && !isKnown(state)
  return isLost && state.published ? { ...state, excused: true } : state
}

function processSteps(state: AttachmentModelState, { lists, rules }: Options): Move<AttachmentModelState>[] {
  const { process, va } = state
  if (process === null) return [{ name: 'the process starts', to: { ...state, process: started(state) }, fair: true }]
  const running: RunningState = { ...state, process }
  const to = (name: string, next: AttachmentModelProcess, fair = true): Move<AttachmentModelState> => ({
    name,
    to: { ...state, process: next },
    fair,
  })
  const steps = process.cached === va ? [] : [to('the watch brings it', seen(process, va, rules))]
  if (process.run !== null) return [...steps, ...runSteps(running, process.run, rules)]
  const isIdle = steps.length === 0 && !process.queued && !process.planned && !process.orphaned
  if (process.orphaned) steps.push(...orphanSteps(running))
  if (process.queued || process.planned) {
    // A run whose PersistentVolume or CSINode is missing fails each time. Once its error is recorded, no run is needed.
    const isFutile = !process.queued && isObstructed(state) && has(process.cached, has(va, 'Z') ? 'D' : 'X')
    steps.push(to('its key is taken', begun(state, process, rules), !isFutile))
  }
  const listed = compared(state, process, rules)
  if (lists && listed !== process) steps.push(to('the driver is listed', listed, isIdle))
  return steps
}

/**
 * Reports whether a missing PersistentVolume or CSINode blocks the work. A detach uses an annotation instead of the
 * CSINode. If the attachment lacks our finalizer, a detach needs no PersistentVolume.
 */
function isObstructed({ va, pv, node, process }: AttachmentModelState): boolean {
  return has(va, 'Z') ? !pv && (has(va, 'F') || process?.listing === 'different') : !pv || !node
}

/** Returns the rule that a final state violates. Undefined if the state violates no rule. */
function unfinished(state: AttachmentModelState, lists: boolean): string | undefined {
  const { va, process } = state
  if (process === null) return 'nothing runs'
  if (va === null) {
    if (state.published && !state.excused) return 'gone, and published'
    const { publication, mustWriteStatus, finalizerRemoved, listing } = process
    return publication || mustWriteStatus || finalizerRemoved || listing !== ''
      ? 'gone, and something is remembered'
      : undefined
  }
  return has(va, 'Z') ? whatDetachLacks(state, va, lists) : whatAttachLacks(state, va, lists)
}

function whatAttachLacks(state: AttachmentModelState, va: Letters, lists: boolean): string | undefined {
  const obstructed = isObstructed(state)
  if (!has(va, 'A')) {
    if (!obstructed) return 'not attached'
    return has(va, 'X') ? undefined : 'not attached, and no error says why'
  }
  if (!has(va, 'F') && !state.excused && !obstructed) return 'attached without our finalizer'
  if (!state.published && !obstructed) return 'attached, and not published'
  if (!has(va, 'M')) return 'attached without its metadata'
  const isStale = has(va, 'D') || (has(va, 'X') && (lists || !state.done.includes('k')))
  return isStale && !obstructed ? 'attached beside an error' : undefined
}

function whatDetachLacks(state: AttachmentModelState, va: Letters, lists: boolean): string | undefined {
  if (has(va, 'F')) {
    if (!isObstructed(state)) return 'never detached'
    return has(va, 'D') ? undefined : 'not detached, and no error says why'
  }
  // Our finalizer was removed by hand during the deletion. The attachment counts as detached, whatever its status says.
  if (state.done.includes('f')) return undefined
  if (state.published) return 'detached, and published'
  // An attachment without its PersistentVolume cannot be compared with a listing.
  const isExcused = (!lists || !state.pv) && state.done.includes('k')
  return hasStatus(va) && !isExcused && !isObstructed(state)
    ? 'detached beside a status that says something else'
    : undefined
}
