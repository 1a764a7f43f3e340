import type { Clock, Phase } from '@csi-sidecars/base'
import type { Backlog } from './backlog.ts'
import type { Controller } from './controller.ts'
import { failureOf } from './failure.ts'
import { dueSince, type PendingWork, type Subject } from './pending.ts'
import { type KeyRecord, pendingWork } from './pending-work.ts'
import type { KeyPosition } from './schedule.ts'

/** What a run that is under way is about. */
export interface ActiveRun {
  phase: Phase
  /** What was due when it began. */
  readonly subject: Subject | undefined
}

export interface KeyRecordsOptions {
  readonly clock: Clock
  /** Undefined where pending work is not reported. */
  readonly backlog?: Backlog | undefined
}

/** The pending work of one controller: since when each key has some, how often it was tried, and what failed last. */
export class KeyRecords {
  readonly #controller: Controller
  readonly #options: KeyRecordsOptions
  readonly #records = new Map<string, KeyRecord>()
  readonly #active = new Map<string, ActiveRun>()

  constructor(controller: Controller, options: KeyRecordsOptions) {
    this.#controller = controller
    this.#options = options
  }

  /** The key's record, which begins now if it has none. */
  of(key: string): KeyRecord {
    const known = this.#records.get(key)
    if (known !== undefined) return known
    const addedAt = this.#options.clock.now()
    const record: KeyRecord = { addedAt, tries: 0, failure: undefined, retrying: false, blocked: false }
    this.#records.set(key, record)
    return record
  }

  /** Other work is wanted of the key from now on. */
  renew(key: string): void {
    if (this.#records.delete(key)) this.of(key)
  }

  delete(key: string): void {
    this.#records.delete(key)
  }

  /** What is due for the key as a run over it begins. */
  beginRun(key: string): { readonly record: KeyRecord; readonly subject: Subject | undefined } {
    const record = this.of(key)
    const subject = this.#controller.pending?.subject(key)
    if (subject !== undefined && record.tries === 0)
      this.#options.backlog?.begun(subject.operation, this.#age(key, subject))
    record.tries += 1
    return { record, subject }
  }

  activate(key: string, run: ActiveRun): void {
    this.#active.set(key, run)
  }

  endRun(key: string): void {
    this.#active.delete(key)
  }

  recordFailure(key: string, { kind, cause }: { readonly kind: string; readonly cause: unknown }): void {
    const record = this.of(key)
    record.failure = failureOf(cause)
    record.retrying = kind === 'retry'
    record.blocked = kind === 'blocked'
    this.#controller.onFailure?.(key, cause)
  }

  /** What was due is done. */
  complete(key: string, subject: Subject): void {
    const age = this.#age(key, subject)
    this.#options.backlog?.completed(subject.operation, age)
    this.#controller.onComplete?.(key, subject, this.#options.clock.now() - age)
  }

  /** The keys with work that is due, and why it is not done. Reads the keys that are not settled, and no other. */
  *pending(positionOf: (key: string) => KeyPosition): Generator<PendingWork> {
    const { pending: table, name: queue } = this.#controller
    if (table === undefined) return
    for (const [key, record] of this.#records) {
      const active = this.#active.get(key)
      const subject = table.subject(key) ?? active?.subject
      const position = positionOf(key)
      const state = active?.phase ?? position.state
      if (subject === undefined || state === undefined) continue
      yield pendingWork({ ...position, key, queue, record, subject, state, now: this.#options.clock.now(), table })
    }
  }

  /** Milliseconds since the work became due. */
  #age(key: string, { sinceSeconds }: Subject): number {
    const now = this.#options.clock.now()
    return Math.max(0, now - dueSince(this.#records.get(key)?.addedAt ?? now, sinceSeconds))
  }
}
