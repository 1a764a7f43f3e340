import { invariant } from '@csi-sidecars/base'
import type { Patch } from '@csi-sidecars/kube-types'
import type { Move } from '@csi-sidecars/testkit'
import type { CachedAttachment } from '../../caches/attachment.ts'
import {
  addFinalizerPatch,
  attachErrorPatch,
  attachedPatch,
  confirmedPatch,
  detachErrorPatch,
  detachedPatch,
  removeFinalizerPatch,
  restoreFinalizerPatch,
} from '../../volume-attachment/patches.ts'
import { FINALIZER } from '../views.ts'
import { attachmentOf, CONTEXT, has, type Letters, patchedLetters } from './attachment-object.ts'
import {
  type AttachmentModelProcess,
  type AttachmentModelRun,
  type AttachmentModelState,
  type AttachmentRules,
  seen,
  settled,
} from './attachment-state.ts'

/** A state in which the attacher runs. */
type RunningState = AttachmentModelState & { readonly process: AttachmentModelProcess }
type Change = (va: CachedAttachment) => Patch | undefined

const NOW = Date.UTC(2026, 0, 1)
const ERROR = { message: 'no', code: undefined }
const NOTE = { nodeId: 'node1-id', finalizer: FINALIZER }

/** Returns the outcomes of the next step of a run. A failure is not `fair`, because no request fails for ever. */
export function runSteps(
  state: RunningState,
  run: AttachmentModelRun,
  rules: AttachmentRules,
): readonly Move<AttachmentModelState>[] {
  const [name = '', ...todo] = run.todo
  const advanced = (next: RunningState): AttachmentModelState => {
    const { process } = next
    return todo.length > 0 ? { ...next, process: { ...process, run: { ...run, todo } } } : ended(next, run)
  }
  const outcome = (text: string, to: AttachmentModelState, fair = false): Move<AttachmentModelState> => ({
    name: `${name} ${text}`,
    to,
    fair,
  })
  const failures = (text: string, after: AttachmentModelState): readonly Move<AttachmentModelState>[] =>
    failed(running(after), { run, name, rules }).map((to, index) =>
      outcome(`${text}${index > 0 ? ', unrecorded' : ''}`, to, name === 'fail' || name === 'block'),
    )
  switch (name) {
    case 'fail':
    case 'block':
      return failures('', state)
    case 'publish':
    case 'unpublish':
      return callSteps(state, name, { advanced, outcome, failures })
    default: {
      if (name === 'markDetached' && isDetached(state)) return [outcome('is needless', advanced(state), true)]
      const change = changeOf(name)
      const isLast = name === 'markDetached' || name === 'removeFinalizer'
      const begun: typeof state = isLast ? { ...state, process: { ...state.process, mustWriteStatus: true } } : state
      const stored = written(begun, change, rules)
      const isTooLate =
        name === 'addFinalizer' && has(stored?.process.cached ?? null, 'Z') && !has(stored?.process.cached ?? null, 'F')
      const again = stored && { ...stored, process: { ...stored.process, run: null, queued: true } }
      const afterStore = (): AttachmentModelState => {
        if (stored === undefined) return gone(begun, rules)
        return isTooLate && again ? again : advanced(stored)
      }
      return [
        outcome('is stored', afterStore(), true),
        ...failures('is refused', begun),
        ...failures('is stored, its answer lost', { ...begun, va: stored === undefined ? null : stored.va }),
      ]
    }
  }
}

interface Ways {
  readonly advanced: (next: RunningState) => AttachmentModelState
  readonly outcome: (text: string, to: AttachmentModelState, fair?: boolean) => Move<AttachmentModelState>
  readonly failures: (text: string, after: AttachmentModelState) => readonly Move<AttachmentModelState>[]
}

function callSteps(
  state: RunningState,
  name: 'publish' | 'unpublish',
  { advanced, outcome, failures }: Ways,
): readonly Move<AttachmentModelState>[] {
  const published = name === 'publish'
  // The cache showed the deletion of the attachment before the publish was sent.
  if (published && state.process.cached === null)
    return [outcome('is not sent', { ...state, process: orphan(state.process) }, true)]
  const publication = published || state.process.publication
  const sent: RunningState = { ...state, process: { ...state.process, publication } }
  const process = { ...sent.process, publication: published, orphaned: published && sent.process.orphaned }
  return [
    outcome('succeeds', advanced({ ...sent, published, process }), true),
    ...failures('fails', sent),
    ...failures('is carried out, its answer lost', { ...sent, published }),
  ]
}

const CHANGES: Readonly<Record<string, Change>> = {
  addFinalizer: (va) => (va.deleting && !va.finalizers?.includes(FINALIZER) ? undefined : addFinalizerPatch(va, NOTE)),
  restoreFinalizer: (va) => (va.deleting ? undefined : restoreFinalizerPatch(va, FINALIZER)),
  removeFinalizer: (va) => removeFinalizerPatch(va, FINALIZER),
  markAttached: (va) => attachedPatch(va, CONTEXT),
  markDetached: detachedPatch,
  clearError: confirmedPatch,
  attach: (va) => attachErrorPatch(va, ERROR, NOW),
  detach: (va) => detachErrorPatch(va, ERROR, NOW),
}

function changeOf(name: string): Change {
  const change = CHANGES[name]
  invariant(change !== undefined, `a step ${name}`)
  return change
}

function isDetached({ va, process: { cached } }: RunningState): boolean {
  return va === null || cached === null || detachedPatch(attachmentOf(cached)) === undefined
}

/**
 * Applies the patch that is built from the cached attachment. If one of its tests fails, it builds and applies another
 * patch from the stored attachment. Undefined if the attachment is gone.
 */
function written(state: RunningState, change: Change, rules: AttachmentRules): RunningState | undefined {
  const { va, process } = state
  if (va === null) return undefined
  const patch = patchOf(change, process.cached ?? va)
  if (patch === undefined) return state
  const after = patchedLetters(va, patch)
  const isRefused = after === 'refused' || (has(va, 'Z') && has(after, 'F') && !has(va, 'F'))
  if (isRefused) return written({ ...state, process: seen(process, va, rules) }, change, rules)
  const stored = has(after, 'Z') && !has(after, 'F') && !has(after, 'O') ? null : after
  return { ...state, va: stored, process: seen(process, stored, rules) }
}

const patches = new WeakMap<Change, Map<Letters, Patch | undefined>>()

/** Returns the patch for an attachment. Each patch is built once and reused, because states repeat. */
function patchOf(change: Change, letters: Letters): Patch | undefined {
  const made = patches.get(change) ?? new Map<Letters, Patch | undefined>()
  patches.set(change, made)
  if (!made.has(letters)) made.set(letters, change(attachmentOf(letters)))
  return made.get(letters)
}

/** Ends a run that has performed all of its steps. */
function ended(state: RunningState, { operation }: AttachmentModelRun): AttachmentModelState {
  const { process } = state
  if (operation === 'detach') return { ...state, process: { ...orphan(process), mustWriteStatus: false } }
  if (process.cached !== null && !has(process.cached, 'A') && !has(process.cached, 'Z')) {
    return { ...state, process: { ...process, run: null, queued: true } }
  }
  return { ...state, process: settled(process) }
}

/** Ends a run after the API server has reported that the attachment is gone. */
function gone(state: RunningState, rules: AttachmentRules): AttachmentModelState {
  return {
    ...state,
    process: orphan(seen({ ...state.process, waits: '', mustWriteStatus: false }, null, rules)),
  }
}

function orphan(process: AttachmentModelProcess): AttachmentModelProcess {
  return { ...settled(process), orphaned: process.publication }
}

interface Failing {
  readonly run: AttachmentModelRun
  readonly name: string
  readonly rules: AttachmentRules
}

/** Returns the states after a failed step: with the error in the status, and without it if that write fails too. */
function failed(state: RunningState, { run, name, rules }: Failing): readonly AttachmentModelState[] {
  const retried: RunningState = { ...state, process: { ...state.process, run: null, planned: true } }
  if (run.operation === 'keep' || name === 'markAttached') return [retried]
  const recorded = written(state, changeOf(run.operation), rules)
  if (recorded === undefined) return [gone(state, rules)]
  const isForced = run.operation === 'attach' && has(recorded.process.cached, 'A') && !has(recorded.process.cached, 'Z')
  const isBlocked = name === 'block' && (has(recorded.process.cached, 'F') || recorded.process.listing === 'different')
  const listing = isForced ? 'different' : recorded.process.listing
  return [{ ...recorded, process: { ...recorded.process, run: null, planned: !isBlocked, listing } }, retried]
}

function running(state: AttachmentModelState): RunningState {
  const { process } = state
  invariant(process !== null, 'the attacher runs')
  return { ...state, process }
}

/** Returns the outcomes of unpublishing a volume whose attachment is gone. */
export function orphanSteps(state: RunningState): readonly Move<AttachmentModelState>[] {
  const done = { ...state.process, publication: false, orphaned: false }
  return [
    { name: 'orphan is unpublished', to: { ...state, published: false, process: done }, fair: true },
    { name: 'orphan is unpublished, the answer lost', to: { ...state, published: false }, fair: false },
  ]
}

export type { RunningState }
