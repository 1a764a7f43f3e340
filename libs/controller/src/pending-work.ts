import { isStuck, remedyOf } from '@csi-sidecars/waits'
import type { RunFailure } from './failure.ts'
import { dueSince, type KeyState, type PendingTable, type PendingWork, type Subject } from './pending.ts'
import type { Cause } from './waiting.ts'

/** The record of a key, from its first addition until it has no pending work. */
export interface KeyRecord {
  /** Milliseconds since 1970. */
  readonly addedAt: number
  /** Runs that have begun. */
  tries: number
  failure: RunFailure | undefined
  /** The last run has failed and will be repeated. */
  retrying: boolean
  /** No retry helps. The key waits for one of its causes. */
  blocked: boolean
}

/** All facts about a key at one moment. */
export interface KeySnapshot {
  readonly key: string
  /** The name of its queue. */
  readonly queue: string
  readonly record: KeyRecord
  readonly subject: Subject
  readonly state: KeyState
  /** The causes that the key waits for. */
  readonly causes: readonly Cause[]
  /** True: the driver is away, so no key starts. */
  readonly paused: boolean
  readonly blockedBy: string | undefined
  /** Milliseconds until the key is added without an event. */
  readonly dueIn: number | undefined
  /** Milliseconds since 1970. */
  readonly now: number
  readonly table: Pick<PendingTable, 'causes' | 'sidecar'>
}

/** Returns the report about a pending key. Pure. */
export function pendingWork(snapshot: KeySnapshot): PendingWork {
  const { key, queue, record, state, dueIn, now, table } = snapshot
  const { sinceSeconds, obstacle: _, ...about } = snapshot.subject
  const since = Math.min(dueSince(record.addedAt, sinceSeconds), now)
  const reason = reasonOf(snapshot)
  return {
    ...about,
    sidecar: table.sidecar,
    key,
    queue,
    state,
    reason,
    since,
    stuck: isStuck(remedyOf(reason, record.blocked ? 'blocked' : 'retried'), { since, now }),
    tries: record.tries,
    code: record.failure?.code,
    message: record.failure?.message,
    waitsFor: waitsFor(snapshot),
    nextTry: dueIn === undefined ? undefined : now + dueIn,
  }
}

/** Returns why the work is not done: the refusal of the driver or the API server, else its obstacle, else its state. */
function reasonOf({ state, record, subject, causes, paused, blockedBy, table }: KeySnapshot): string {
  if (paused && state === 'queued') return 'DriverAway'
  if (blockedBy !== undefined && state === 'queued') return 'VolumeOrNodeBusy'
  const { failure } = record
  if (failure?.reason !== undefined) return failure.reason
  const [first] = causes
  const waited = first && table.causes[first.on]?.reason
  if (state === 'waiting') return subject.obstacle ?? waited ?? 'Failed'
  if (failure !== undefined || state === 'backoff') {
    return subject.obstacle ?? waited ?? (failure === undefined ? 'Postponed' : 'Failed')
  }
  return FIRST_TRY[state]
}

const FIRST_TRY: Readonly<Record<Exclude<KeyState, 'waiting' | 'backoff'>, string>> = {
  queued: 'NoWorkerFree',
  deciding: 'Reading',
  calling: 'DriverCall',
  writing: 'APIWrite',
}

/** A volume that many nodes use shows the first of them. */
const MOST_CAUSES = 10

function waitsFor({ state, causes, paused, blockedBy, table }: KeySnapshot): readonly string[] {
  if (state === 'calling' || (paused && state === 'queued')) return ['CSI driver']
  if (state === 'writing') return ['API server']
  if (state === 'queued') return blockedBy === undefined ? [] : [blockedBy]
  const named = causes.map(({ on, name }) => [table.causes[on]?.kind ?? on, name].filter(Boolean).join(' '))
  return named.slice(0, MOST_CAUSES)
}
