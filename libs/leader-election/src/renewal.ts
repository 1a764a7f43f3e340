import { type Clock, messageOf, scope } from '@csi-sidecars/base'
import { ApiError } from '@csi-sidecars/kube-client'
import type { LeaseHolder, SentLease } from './lease-holder.ts'
import type { LeaderTerm } from './term.ts'

/** Everything that one renewal of the Lease needs. */
export interface RenewalOptions {
  readonly holder: LeaseHolder
  readonly clock: Clock
  readonly retryPeriodMs: number
  /** Called before the Lease is read, because the first PUT fails or hangs. */
  onSlowPath(why: string): void
  /** Called after the Lease was read because the first PUT failed. */
  onRead(): void
}

/** The time that a new connection and two requests to a healthy server need. */
const FALLBACK_BEFORE_END_MS = 1500
/** The shortest pause between two renewals. */
const MIN_PAUSE_MS = 200

/**
 * Renews the Lease until `leading` is aborted or the term is over. The retry period counts from request to request, so
 * that a slow answer does not delay the next renewal. Returns why the term is over, or undefined if it is not.
 */
export async function renewWhileLeading(
  term: LeaderTerm,
  leading: AbortSignal,
  options: RenewalOptions,
): Promise<unknown | undefined> {
  const { clock, holder, retryPeriodMs } = options
  using either = scope(term.signal, leading)
  let failure: unknown
  let nextAt = term.renewedAt + retryPeriodMs
  for (;;) {
    try {
      await clock.sleep(Math.max(nextAt - clock.monotonic(), MIN_PAUSE_MS), either.signal)
      const sentAt = await renewOnce(term, either.signal, options)
      if (sentAt === undefined) {
        term.end(`the lease is held by ${holder.holder}`)
      } else {
        term.extend(sentAt)
        nextAt = sentAt + retryPeriodMs
      }
      failure = undefined
    } catch (error) {
      if (!either.signal.aborted) failure = error
      nextAt = clock.monotonic() + pauseAfter(failure, term.heldUntil - clock.monotonic(), retryPeriodMs)
    }
    // The end of the term also aborts `leading`, so the term is checked first.
    if (term.signal.aborted) return failure ?? term.signal.reason
    if (leading.aborted) return undefined
  }
}

/**
 * Returns the pause after a failed renewal. It is short, because a short failure of the server must not cost the Lease.
 * If the server asks for a longer pause, the pause is as long as the term allows.
 */
function pauseAfter(failure: unknown, leftMs: number, retryPeriodMs: number): number {
  const soonMs = Math.min(leftMs / 2, retryPeriodMs)
  const askedMs = failure instanceof ApiError ? (failure.retryAfterMs ?? 0) : 0
  return Math.max(soonMs, Math.min(askedMs, leftMs - FALLBACK_BEFORE_END_MS))
}

/**
 * Renews the Lease by a PUT based on our last write. If the PUT fails or is slow, reads the Lease on another connection
 * and sends a second PUT. The first success counts. Returns undefined if another process has the Lease.
 */
async function renewOnce(term: LeaderTerm, signal: AbortSignal, options: RenewalOptions): Promise<number | undefined> {
  const { clock, holder } = options
  const leftMs = term.heldUntil - clock.monotonic()
  const waitMs = leftMs - Math.min(leftMs / 2, FALLBACK_BEFORE_END_MS)
  using tries = scope(signal)
  const first = holder.sendWrite(signal, leftMs)
  try {
    const waited = clock.sleep(waitMs, tries.signal)
    const answered = await Promise.race([first, waited])
    if (answered !== undefined) return holder.storeWritten(answered)
    options.onSlowPath(`no answer within ${waitMs} ms`)
  } catch (error) {
    signal.throwIfAborted()
    options.onSlowPath(messageOf(error))
  }
  const fallback = readAndWrite(tries.signal, options)
  try {
    const written = await Promise.any([first, fallback]).catch(() => fallback)
    return written && holder.storeWritten(written)
  } finally {
    tries.abort(new Error('the lease was renewed by the fallback'))
  }
}

async function readAndWrite(signal: AbortSignal, { holder, onRead }: RenewalOptions): Promise<SentLease | undefined> {
  await holder.read(signal, { newConnection: true })
  onRead()
  if (holder.decide().kind === 'wait') return undefined
  return await holder.sendWrite(signal)
}
