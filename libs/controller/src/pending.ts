import type { Phase } from '@csi-sidecars/base'

/** What a key is doing. `waiting`: for a cause, and for its back-off if it has one. */
export type KeyState = 'queued' | 'waiting' | 'backoff' | Phase

/** What is done for an object. `release`: the finalizer is removed from a volume; `node-expand`: the kubelet's part. */
export type Operation = 'attach' | 'detach' | 'release' | 'expand' | 'modify' | 'node-expand'

/** An object of the API, in reports. */
export interface SubjectObject {
  readonly kind: string
  /** Empty for objects without a namespace. */
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

/** What the work of a key is about, according to the caches at this moment. */
export interface Subject {
  readonly operation: Operation
  readonly object?: SubjectObject | undefined
  /** The PersistentVolume's name. */
  readonly volume?: string | undefined
  readonly node?: string | undefined
  /** When the work became due according to the API, in seconds since 1970. Left out: when its key was added. */
  readonly sinceSeconds?: number | undefined
  /** What blocks it according to the caches. One of a small set: it is a label of metrics. */
  readonly obstacle?: string | undefined
}

/** Work that is not done, and why. */
export interface PendingWork extends Omit<Subject, 'sinceSeconds' | 'obstacle'> {
  /** The name of the Go original: `external-attacher`. */
  readonly sidecar: string
  /** Its key in the queue, which distinguishes work for the same object. */
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
  /** Of the last failure: a gRPC code's name, or the reason of the API server. */
  readonly code?: string | undefined
  /** The message of the last failure. */
  readonly message?: string | undefined
  readonly waitsFor: readonly string[]
  /** When it is tried next without a cause, in milliseconds since 1970. */
  readonly nextTry?: number | undefined
}

/** How a controller's pending keys are reported. */
export interface PendingTable {
  readonly sidecar: string
  /** Undefined where nothing is due for the key. Called before each run and by each reader, so it must be cheap. */
  readonly subject: (key: string) => Subject | undefined
  /** What keys wait for, by `on` of their causes: its name, and the reason when the subject names no obstacle. */
  readonly causes: Readonly<Record<string, { readonly kind: string; readonly reason: string }>>
}

/**
 * When work became due. The API has whole seconds; within that second the moment when its key was added is more exact.
 */
export function dueSince(addedAt: number, sinceSeconds: number | undefined): number {
  if (sinceSeconds === undefined) return addedAt
  const from = sinceSeconds * 1000
  return Math.min(Math.max(addedAt, from), from + 999)
}
