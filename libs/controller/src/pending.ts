import type { RunPhase } from '@csi-sidecars/base'

/** The state of a key. `waiting`: the key waits for a cause, and for its back-off if it has one. */
export type KeyState = 'queued' | 'waiting' | 'backoff' | RunPhase

/** The operation on an object. `release` removes the finalizer of a volume; `node-expand` is the kubelet's part. */
export type Operation =
  | 'attach'
  | 'detach'
  | 'release'
  | 'expand'
  | 'modify'
  | 'node-expand'
  | 'provision'
  | 'delete'
  | 'create-snapshot'
  | 'delete-snapshot'

/** An object of the API, in reports. */
export interface SubjectObject {
  readonly kind: string
  /** Empty for objects without a namespace. */
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

/** The work of a key, according to the caches at this moment. */
export interface Subject {
  readonly operation: Operation
  readonly object?: SubjectObject | undefined
  /** The PersistentVolume's name. */
  readonly volume?: string | undefined
  readonly node?: string | undefined
  /** When the work became due according to the API, in seconds since 1970. Default: when its key was added. */
  readonly sinceSeconds?: number | undefined
  /** The obstacle according to the caches. One of a small set, because it is a label of metrics. */
  readonly obstacle?: string | undefined
}

/** Work that is not done, and why. */
export interface PendingWork extends Omit<Subject, 'sinceSeconds' | 'obstacle'> {
  /** The name of the Go original: `external-attacher`. */
  readonly sidecar: string
  /** The key in the queue. It distinguishes work for the same object. */
  readonly key: string
  /** The queue's name; undefined for work that this process only waits for. */
  readonly queue?: string | undefined
  readonly state: KeyState
  /** One of a small set, in CamelCase: it is a label of metrics. */
  readonly reason: string
  /** Milliseconds since 1970. */
  readonly since: number
  readonly stuck: boolean
  readonly tries: number
  /** The code of the last failure: the name of a gRPC code, or the reason of the API server. */
  readonly code?: string | undefined
  /** The message of the last failure. */
  readonly message?: string | undefined
  readonly waitsFor: readonly string[]
  /** The next try without a cause, in milliseconds since 1970. */
  readonly nextTry?: number | undefined
}

/** The table of a controller for reports about its pending keys. */
export interface PendingTable {
  readonly sidecar: string
  /**
   * Returns the pending work of a key, or undefined. Called before each run and by each reader, so it must be cheap.
   */
  readonly subject: (key: string) => Subject | undefined
  /** The kinds of causes by `on`: the kind for texts, and the reason if the subject names no obstacle. */
  readonly causes: Readonly<Record<string, { readonly kind: string; readonly reason: string }>>
}

/**
 * Returns when work became due. The API has whole seconds; within that second the moment of the key's addition is more
 * exact.
 */
export function dueSince(addedAt: number, sinceSeconds: number | undefined): number {
  if (sinceSeconds === undefined) return addedAt
  const from = sinceSeconds * 1000
  return Math.min(Math.max(addedAt, from), from + 999)
}
