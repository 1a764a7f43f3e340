import type { RunPhase } from '@csi-sidecars/base'
import type { Operation, Reason } from '@csi-sidecars/waits'

/** The state of a key. A `waiting` key waits for a `WakeEvent`, and perhaps also for its back-off. */
export type KeyState = 'queued' | 'waiting' | 'backoff' | RunPhase

/** An API object in a report. */
export interface SubjectObject {
  readonly kind: string
  /** The namespace. Empty for objects without a namespace. */
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

/** The pending work of a key, as the caches show it at this moment. */
export interface WorkSubject {
  readonly operation: Operation
  readonly object?: SubjectObject | undefined
  /** The name of the PersistentVolume. */
  readonly volume?: string | undefined
  readonly node?: string | undefined
  /** When the work became due according to the API, in seconds since 1970. Default: when its key was added. */
  readonly sinceSeconds?: number | undefined
  /** The reason why the work cannot be done, according to the caches. */
  readonly obstacle?: Reason | undefined
}

/** A report about pending work. */
export interface PendingWork extends Omit<WorkSubject, 'sinceSeconds' | 'obstacle'> {
  /** The name of the Go sidecar, for example `external-attacher`. */
  readonly sidecar: string
  /** The key in the queue. It distinguishes work for the same object. */
  readonly key: string
  /** The name of the queue. Undefined for work of another process. */
  readonly queue?: string | undefined
  readonly state: KeyState
  /** The reason why the work is still pending. It is a label of metrics. */
  readonly reason: Reason
  /** When the work became due, in milliseconds since 1970. */
  readonly since: number
  readonly stuck: boolean
  readonly tries: number
  /** The code of the last failure: the name of a gRPC code, or the reason of the API server. */
  readonly code?: string | undefined
  /** The message of the last failure. */
  readonly message?: string | undefined
  readonly waitsFor: readonly string[]
  /** When the key runs again unless an event comes first, in milliseconds since 1970. */
  readonly nextTry?: number | undefined
}

/** Describes the pending keys of a controller for reports. */
export interface PendingTable {
  readonly sidecar: string
  /**
   * Returns the pending work of a key, or undefined. Called before each run and by each reader, so it must be cheap.
   */
  readonly subject: (key: string) => WorkSubject | undefined
}

/** Returns the moment when work became due: `addedAt`, or the nearest moment within the second `sinceSeconds`. */
export function dueSince(addedAt: number, sinceSeconds: number | undefined): number {
  if (sinceSeconds === undefined) return addedAt
  const from = sinceSeconds * 1000
  return Math.min(Math.max(addedAt, from), from + 999)
}
