/** What a run is busy with, for those who ask what a key is doing. */
export type Phase = 'deciding' | 'calling' | 'writing'

/** What a key is doing. `waiting`: for a cause, and for its back-off if it has one. */
export type KeyState = 'queued' | 'waiting' | 'backoff' | Phase

/** What is done for an object. `release`: the finalizer is taken off a volume; `node-expand`: the kubelet's part. */
export type Operation = 'attach' | 'detach' | 'release' | 'expand' | 'modify' | 'node-expand'

/** An object of the API, for those who read about it. */
export interface SubjectObject {
  readonly kind: string
  /** Empty for objects without a namespace. */
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

/** What the work of a key is about, as the caches tell it at this moment. */
export interface Subject {
  readonly operation: Operation
  readonly object?: SubjectObject | undefined
  /** The PersistentVolume's name. */
  readonly volume?: string | undefined
  readonly node?: string | undefined
  /** When the API says that the work became due, in seconds since 1970. Left out: when its key was added. */
  readonly sinceSeconds?: number | undefined
  /** What stands in its way as far as the caches tell. One of few words: it is a label of metrics. */
  readonly obstacle?: string | undefined
}

/** Work that is not done, and why. */
export interface PendingWork extends Omit<Subject, 'sinceSeconds' | 'obstacle'> {
  /** As the Go originals are called: `external-attacher`. */
  readonly sidecar: string
  /** Its key in the queue, which tells apart what is about the same object. */
  readonly key: string
  /** The queue's name; undefined for work that others do and this process only waits for. */
  readonly queue?: string | undefined
  readonly state: KeyState
  /** One of few words, in CamelCase: it is a label of metrics. */
  readonly reason: string
  /** Milliseconds since 1970. */
  readonly since: number
  readonly stuck: boolean
  readonly tries: number
  /** Of the last failure: a gRPC code's name, or the reason of the API server. */
  readonly code?: string | undefined
  /** The words of the last failure. */
  readonly message?: string | undefined
  readonly waitsFor: readonly string[]
  /** When it is tried next without a cause, in milliseconds since 1970. */
  readonly nextTry?: number | undefined
}

/** How a controller's pending keys are told about. */
export interface PendingTable {
  readonly sidecar: string
  /** Undefined where nothing is due for the key and it is only looked at. Asked before each run and by each reader: cheap. */
  readonly subject: (key: string) => Subject | undefined
  /** What keys wait for, by `on` of their causes: how it is called, and the reason when the subject names no obstacle. */
  readonly causes: Readonly<Record<string, { readonly kind: string; readonly reason: string }>>
}

/** From this age on work is stuck: after about two minutes the kubelet reports that it waits for its volumes. */
export const STUCK_AFTER_MS = 120_000

/**
 * When work became due. The API tells whole seconds; within that second the moment when its key was added is the better
 * one.
 */
export function dueSince(addedAt: number, sinceSeconds: number | undefined): number {
  if (sinceSeconds === undefined) return addedAt
  const from = sinceSeconds * 1000
  return Math.min(Math.max(addedAt, from), from + 999)
}
