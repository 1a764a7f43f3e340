import { unreachable } from '@csi-sidecars/base'
import { type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import { goQuote } from '@csi-sidecars/telemetry'
import type { Content } from '../caches/content.ts'
import { callCheck } from './calls.ts'
import { createSnapshot } from './create.ts'
import { decide, isDeletionStep } from './decide.ts'
import { checkSecrets } from './inputs.ts'
import { NotSentError } from './kinds.ts'
import { settleLost } from './lost.ts'
import { afterProgress, recordFailure, takenStatus } from './record.ts'
import { removeSnapshot } from './remove.ts'
import { type ContentDeps, ContentGoneError, type ContentRun, type ContentWakeKind, explain, viewOf } from './run.ts'
import { writeMark, writeStatus } from './writes.ts'

/** Decides the next step of one snapshot content, and performs it. */
export async function reconcile(key: string, deps: ContentDeps, controllerRun: Run<ContentWakeKind>): Promise<Outcome> {
  const run: ContentRun = { ...controllerRun, key, deps }
  run.waitFor()
  let unsettled: Outcome | undefined
  for (const lost of deps.memory.lostOf(key)) {
    const outcome = await settleLost(run, lost)
    if (outcome.kind !== 'settled') unsettled ??= outcome
  }
  const content = deps.contents.store.get(key)
  const outcome = content === undefined ? SETTLED : await workOn(run, content)
  const mayWait = outcome.kind === 'settled' || outcome.kind === 'postponed'
  return mayWait ? (unsettled ?? outcome) : outcome
}

async function workOn(run: ContentRun, content: Content): Promise<Outcome> {
  const steps = decide(viewOf(content, run.deps))
  const [first] = steps
  if (first === undefined) return SETTLED
  switch (first.do) {
    case 'create':
      return await createSnapshot(run, content, first.phase)
    case 'check':
      return await checkSnapshot(run, content)
    case 'await':
      run.waitFor(first.waitsFor)
      return SETTLED
    case 'unmark':
      return await unmark(run, content)
    case 'delete':
    case 'keepForOther':
    case 'clear':
    case 'release':
      return await removeSnapshot(run, content, steps.filter(isDeletionStep))
    default:
      return unreachable(first)
  }
}

/** Removes the annotation if the snapshot is ready, but an earlier run has failed to remove the annotation. */
async function unmark(run: ContentRun, content: Content): Promise<Outcome> {
  try {
    return afterProgress(run, await writeMark(run, content, false))
  } catch (cause) {
    run.signal.throwIfAborted()
    return cause instanceof ContentGoneError ? SETTLED : { kind: 'retry', cause }
  }
}

/** Asks the driver about a pre-provisioned snapshot or a group member, and stores the answer. */
async function checkSnapshot(run: ContentRun, content: Content): Promise<Outcome> {
  const { kind } = run.deps
  try {
    const secrets = await checkSecrets(run, content)
    const failing = explain(run, `failed to list ${kind.words.snapshot} for ${kind.words.content} ${run.key}`, goQuote)
    const taken = await callCheck(run, content, secrets).catch((cause: unknown) => {
      throw cause instanceof NotSentError ? cause : failing(cause)
    })
    const fields = (latest: Content): object => takenStatus(kind, taken, latest)
    return afterProgress(run, await writeStatus(run, content, { fields }))
  } catch (error) {
    run.signal.throwIfAborted()
    if (error instanceof ContentGoneError) return SETTLED
    return await recordFailure(run, content, { phase: 'check', error })
  }
}
