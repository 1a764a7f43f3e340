import { AdaptiveLimit, type Clock, MINUTE } from '@csi-sidecars/base'
import type { KeyOrder, KeyPriority } from './key-order.ts'

/** The number of different keys in a row whose refusals show that too many keys run. Fewer keys may fail by themselves. */
const MIN_REFUSED = 3
/** After an idle time this long, an earlier refusal says nothing about the next keys. */
const FORGET_AFTER_IDLE_MS = MINUTE

/** The order that a limit of parallel keys is added to. */
export interface AdaptiveOrderOptions {
  /** The order in which the keys run. */
  readonly order: KeyOrder
  /** The upper bound of the limit, with which the order starts. */
  readonly max: number
  readonly clock: Pick<Clock, 'monotonic'>
  /** Called with each new limit. */
  readonly onLimit: (limit: number) => void
}

/**
 * Starts fewer keys at once if the runs of many keys are refused, and more again if runs succeed.
 *
 * Guarantees: at least one key and at most `max` keys run. The refusals of one or two keys change nothing, however often
 * they fail. After a minute without a running key the limit is `max` again.
 */
export class AdaptiveOrder implements KeyOrder {
  readonly #options: AdaptiveOrderOptions
  #limit: AdaptiveLimit
  /** The start times of the running keys. */
  readonly #started = new Map<string, number>()
  /** The keys that were refused since the last success. */
  readonly #refused = new Set<string>()
  #idleSince: number

  constructor(options: AdaptiveOrderOptions) {
    this.#options = options
    this.#limit = this.#newLimit()
    this.#idleSince = options.clock.monotonic()
    options.onLimit(this.#limit.value)
  }

  get length(): number {
    return this.#options.order.length
  }

  /** The current maximum number of running keys. */
  get limit(): number {
    return this.#limit.value
  }

  push(key: string, priority: KeyPriority): void {
    this.#options.order.push(key, priority)
  }

  touch(key: string): void {
    this.#options.order.touch(key)
  }

  blockedBy(key: string): string | undefined {
    return this.#options.order.blockedBy?.(key)
  }

  pop(): string | undefined {
    const now = this.#options.clock.monotonic()
    if (this.#started.size === 0 && now - this.#idleSince >= FORGET_AFTER_IDLE_MS) this.#forget()
    if (this.#limit.isFull) return undefined
    const key = this.#options.order.pop()
    if (key === undefined) return undefined
    this.#limit.begin()
    this.#started.set(key, now)
    return key
  }

  release(key: string): void {
    this.#options.order.release(key)
    this.#started.delete(key)
    this.#limit.end()
    if (this.#started.size === 0) this.#idleSince = this.#options.clock.monotonic()
  }

  /** Called before the release of a key whose call has succeeded. */
  succeeded(): void {
    this.#refused.clear()
    if (this.#limit.completesRound()) this.#change(() => this.#limit.raise())
  }

  /** Called before the release of a key whose call was refused because there was too much work. */
  refused(key: string): void {
    this.#refused.add(key)
    const startedAt = this.#started.get(key)
    if (startedAt === undefined || this.#refused.size < MIN_REFUSED) return
    const now = this.#options.clock.monotonic()
    this.#change(() => this.#limit.refused({ ran: this.#limit.running, startedAt, now }))
  }

  #forget(): void {
    this.#refused.clear()
    this.#change(() => {
      this.#limit = this.#newLimit()
    })
  }

  #newLimit(): AdaptiveLimit {
    const { max } = this.#options
    return new AdaptiveLimit({ max, first: max })
  }

  #change(change: () => void): void {
    const before = this.#limit.value
    change()
    if (this.#limit.value !== before) this.#options.onLimit(this.#limit.value)
  }
}
