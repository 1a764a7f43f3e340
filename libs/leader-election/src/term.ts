import { type Cancel, CancelledError, type Clock } from '@csi-sidecars/base'

/**
 * The time in which this process leads, from winning the Lease until its loss or release.
 *
 * Guarantees: it ends at the renew deadline, counted from the moment when the last successful renewal was sent. Other
 * processes may take the lease only later.
 *
 * Caveats: a process that was frozen for longer notices the end in `assertHeld`, which reads the clock and does not
 * depend on a timer.
 */
export class LeaderTerm {
  /** The monotonic time since which no other process leads. Later reads see all writes of former leaders. */
  readonly soleSince: number
  readonly #clock: Clock
  readonly #renewDeadlineMs: number
  readonly #controller = new AbortController()
  #heldUntil = 0
  #renewedAt = 0
  #cancel: Cancel = () => {}

  constructor(options: { clock: Clock; renewDeadlineMs: number; sentAt: number; soleSince: number }) {
    this.soleSince = options.soleSince
    this.#clock = options.clock
    this.#renewDeadlineMs = options.renewDeadlineMs
    this.extend(options.sentAt)
  }

  /** Aborted when the Lease is lost or released, or the renew deadline is over. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The monotonic time when the term ends unless it is renewed. */
  get heldUntil(): number {
    return this.#heldUntil
  }

  /** The monotonic time when the last successful renewal was sent. */
  get renewedAt(): number {
    return this.#renewedAt
  }

  isHeld(): boolean {
    return !this.signal.aborted && this.#clock.monotonic() < this.#heldUntil
  }

  /** Throws if the term is over. Call it before each action. */
  assertHeld(): void {
    if (this.isHeld()) return
    this.end('the lease was not renewed in time')
    throw this.signal.reason
  }

  /** Extends the term after a successful renewal that was sent at `sentAt`. */
  extend(sentAt: number): void {
    if (this.signal.aborted) return
    this.#renewedAt = sentAt
    this.#heldUntil = sentAt + this.#renewDeadlineMs
    this.#cancel()
    this.#cancel = this.#clock.schedule(this.#heldUntil - this.#clock.monotonic(), () =>
      this.end('the lease was not renewed in time'),
    )
  }

  end(why: string): void {
    this.#cancel()
    this.#controller.abort(new CancelledError(why))
  }
}
