import { isStuck, type Reason, remedyOf } from '@csi-sidecars/waits'
import type { RunFailure } from './failure.ts'
import { dueSince, type KeyState, type PendingWork, type WorkSubject } from './pending.ts'
import type { KeyPosition } from './schedule.ts'
import type { WakeEvent } from './wake-event.ts'
import type { Wakers } from './wakers.ts'

/** The record of a key, from its first addition until it has no pending work. */
export interface KeyRecord {
  /** When the key was added, in milliseconds since 1970. */
  readonly addedAt: number
  /** The number of runs that have begun. */
  tries: number
  failure: RunFailure | undefined
  /** True if the last run has failed and will be retried. */
  isRetrying: boolean
  /** True if the last run has failed and the key waits for an event, because no retry helps. */
  isBlocked: boolean
}

/** The state of a key at one moment, for a report. */
export interface KeySnapshot extends Omit<KeyPosition, 'state'> {
  readonly key: string
  readonly queue: string
  readonly record: KeyRecord
  readonly subject: WorkSubject
  readonly state: KeyState
  /** The current time, in milliseconds since 1970. */
  readonly now: number
  readonly sidecar: string
  readonly wakers: Wakers<string>
}

/** Returns the report about the pending work of a key. Pure. */
export function pendingWork(snapshot: KeySnapshot): PendingWork {
  const { key, queue, record, state, dueInMs, now, sidecar } = snapshot
  const { sinceSeconds, obstacle: _, ...subject } = snapshot.subject
  const since = Math.min(dueSince(record.addedAt, sinceSeconds), now)
  const reason = reasonOf(snapshot)
  return {
    ...subject,
    sidecar,
    key,
    queue,
    state,
    reason,
    since,
    stuck: isStuck(remedyOf(reason, record.isBlocked ? 'blocked' : 'retried'), { since, now }),
    tries: record.tries,
    code: record.failure?.code,
    message: record.failure?.message,
    waitsFor: awaitedPartiesOf(snapshot),
    nextTry: dueInMs === undefined ? undefined : now + dueInMs,
  }
}

/** Returns why work is pending: the refusal of a request, or an obstacle, or the state of the key. */
function reasonOf({ state, record, subject, waitsFor, isPaused, blockedBy, wakers }: KeySnapshot): Reason {
  if (isPaused && state === 'queued') return 'DriverAway'
  if (blockedBy !== undefined && state === 'queued') return 'VolumeOrNodeBusy'
  const { failure } = record
  if (failure?.reason !== undefined) return failure.reason
  const [first] = waitsFor
  const waited = first && wakers[first.kind]?.reason
  if (state === 'waiting') return subject.obstacle ?? waited ?? 'Failed'
  if (failure !== undefined || state === 'backoff') {
    return subject.obstacle ?? waited ?? (failure === undefined ? 'Postponed' : 'Failed')
  }
  return FIRST_TRY[state]
}

const FIRST_TRY: Readonly<Record<Exclude<KeyState, 'waiting' | 'backoff'>, Reason>> = {
  queued: 'NoWorkerFree',
  deciding: 'Reading',
  calling: 'DriverCall',
  writing: 'APIWrite',
}

/** The largest number of events in a report: a volume may wait for many nodes. */
const MAX_EVENTS = 10

/** Returns the objects and programs that the work waits for. */
function awaitedPartiesOf({ state, waitsFor, isPaused: paused, blockedBy, wakers }: KeySnapshot): readonly string[] {
  if (state === 'calling' || (paused && state === 'queued')) return ['CSI driver']
  if (state === 'writing') return ['API server']
  if (state === 'queued') return blockedBy === undefined ? [] : [blockedBy]
  return waitsFor.slice(0, MAX_EVENTS).map((event) => objectText(event, wakers))
}

/** Returns the kind of the object that a key waits for, and its name if it is known. */
function objectText({ kind, name }: WakeEvent, wakers: Wakers<string>): string {
  const object = wakers[kind]?.object ?? kind
  return name ? `${object} ${name}` : object
}
