import type { Clock, RunPhase } from '@csi-sidecars/base'
import type { Backlog } from './backlog.ts'
import type { AnyController } from './controller.ts'
import { failureOf } from './failure.ts'
import { dueSince, type PendingWork, type WorkSubject } from './pending.ts'
import { type KeyRecord, pendingWork } from './pending-work.ts'
import type { KeyPosition } from './schedule.ts'

/** The phase and the pending work of a run that has not ended. */
export interface ActiveRun {
  phase: RunPhase
  /** The pending work of the key at the start of the run. */
  readonly subject: WorkSubject | undefined
}

/** Everything that the records of a controller's keys need. */
export interface KeyRecordsOptions {
  readonly clock: Clock
  /** Reports pending work. Default: pending work is not reported. */
  readonly backlog?: Backlog | undefined
}

/** Records when each key of one controller was added, the number of its runs, and its last failure. */
export class KeyRecords {
  readonly #controller: AnyController
  readonly #options: KeyRecordsOptions
  readonly #records = new Map<string, KeyRecord>()
  readonly #active = new Map<string, ActiveRun>()

  constructor(controller: AnyController, options: KeyRecordsOptions) {
    this.#controller = controller
    this.#options = options
  }

  /** Returns the record of the key. Creates it if there is none. */
  getOrCreate(key: string): KeyRecord {
    const existing = this.#records.get(key)
    if (existing !== undefined) return existing
    const addedAt = this.#options.clock.now()
    const record: KeyRecord = { addedAt, tries: 0, failure: undefined, isRetrying: false, isBlocked: false }
    this.#records.set(key, record)
    return record
  }

  /** Replaces the record of the key by a new one, because the key has other work from now on. */
  reset(key: string): void {
    if (this.#records.delete(key)) this.getOrCreate(key)
  }

  delete(key: string): void {
    this.#records.delete(key)
  }

  beginRun(key: string): { readonly record: KeyRecord; readonly subject: WorkSubject | undefined } {
    const record = this.getOrCreate(key)
    const subject = this.#controller.pending?.subject(key)
    if (subject !== undefined && record.tries === 0)
      this.#options.backlog?.recordBegin(subject.operation, this.#age(key, subject))
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
    const record = this.getOrCreate(key)
    record.failure = failureOf(cause)
    record.isRetrying = kind === 'retry'
    record.isBlocked = kind === 'blocked'
    this.#controller.onFailure?.(key, cause)
  }

  /** Reports that the pending work of the key is done. */
  complete(key: string, subject: WorkSubject): void {
    const age = this.#age(key, subject)
    this.#options.backlog?.recordCompletion(subject.operation, age)
    this.#controller.onComplete?.(key, subject, this.#options.clock.now() - age)
  }

  /** Lists the pending work of all keys that are not settled. */
  *pending(positionOf: (key: string) => KeyPosition): Generator<PendingWork> {
    const { pending: table, wakers, name: queue } = this.#controller
    if (table === undefined) return
    for (const [key, record] of this.#records) {
      const active = this.#active.get(key)
      const subject = table.subject(key) ?? active?.subject
      const position = positionOf(key)
      const state = active?.phase ?? position.state
      if (subject === undefined || state === undefined) continue
      const now = this.#options.clock.now()
      yield pendingWork({ ...position, key, queue, record, subject, state, now, sidecar: table.sidecar, wakers })
    }
  }

  /** Returns the milliseconds since the work of the key became due. */
  #age(key: string, { sinceSeconds }: WorkSubject): number {
    const now = this.#options.clock.now()
    return Math.max(0, now - dueSince(this.#records.get(key)?.addedAt ?? now, sinceSeconds))
  }
}
