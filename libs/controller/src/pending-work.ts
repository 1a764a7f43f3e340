import {
  dueSince,
  type KeyState,
  type PendingTable,
  type PendingWork,
  STUCK_AFTER_MS,
  type Subject,
} from './pending.ts'
import type { KeyRecord } from './records.ts'
import type { Cause } from './waiting.ts'

/** All that is known of a key at one moment. */
export interface Standing {
  readonly key: string
  /** The name of its queue. */
  readonly queue: string
  readonly record: KeyRecord
  readonly subject: Subject
  readonly state: KeyState
  /** What it waits for. */
  readonly causes: readonly Cause[]
  /** No key is started: the driver is away. */
  readonly paused: boolean
  /** What has no room for it, though a worker may be free. */
  readonly behind: string | undefined
  /** Milliseconds until it is added by itself. */
  readonly dueIn: number | undefined
  /** Milliseconds since 1970. */
  readonly now: number
  readonly table: Pick<PendingTable, 'causes' | 'sidecar'>
}

/** What is told of a pending key; pure. */
export function pendingWork(standing: Standing): PendingWork {
  const { key, queue, record, state, dueIn, now, table } = standing
  const { sinceSeconds, obstacle: _, ...about } = standing.subject
  const since = Math.min(dueSince(record.addedAt, sinceSeconds), now)
  return {
    ...about,
    sidecar: table.sidecar,
    key,
    queue,
    state,
    reason: reasonOf(standing),
    since,
    stuck: record.blocked || now - since >= STUCK_AFTER_MS,
    tries: record.tries,
    code: record.failure?.code,
    message: record.failure?.message,
    waitsFor: waitsFor(standing),
    nextTry: dueIn === undefined ? undefined : now + dueIn,
  }
}

/** Why the work is not done: what the driver or the API server has refused, else what stands in its way, else its state. */
function reasonOf({ state, record, subject, causes, paused, behind, table }: Standing): string {
  if (paused && state === 'queued') return 'DriverAway'
  if (behind !== undefined && state === 'queued') return 'VolumeOrNodeBusy'
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

/** A volume that many nodes keep shows the first of them. */
const MOST_CAUSES = 10

function waitsFor({ state, causes, paused, behind, table }: Standing): readonly string[] {
  if (state === 'calling' || (paused && state === 'queued')) return ['CSI driver']
  if (state === 'writing') return ['API server']
  if (state === 'queued') return behind === undefined ? [] : [behind]
  const named = causes.map(({ on, name }) => [table.causes[on]?.kind ?? on, name].filter(Boolean).join(' '))
  return named.slice(0, MOST_CAUSES)
}
