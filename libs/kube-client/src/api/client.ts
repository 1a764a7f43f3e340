import type { MessageReader, ObjectRef, Patch, Resource } from '@csi-sidecars/kube-types'
import type { ApiError } from './api-error.ts'

/** `lease` has its own flow control and its own connections: it never waits behind work. */
export type LaneName = 'work' | 'lease'

/**
 * Both are sent while nothing else waits and enough of the rate is left for what comes next.
 * - `spare` at no other time; a refusal is not tried again. For what may as well not be said.
 * - `low` after ten seconds in line with others. For work that has failed and is tried again: however much there is of it,
 *   other requests go first, and it makes progress.
 */
export type RequestPriority = 'low' | 'spare'

export interface RequestOptions {
  /** Ends every wait of the call; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Default: `work`. */
  readonly lane?: LaneName | undefined
  readonly priority?: RequestPriority | undefined
  /** Not on a kept connection, which may be dead without notice. */
  readonly newConnection?: boolean | undefined
  /** Limit of one attempt, from its first byte sent. Default: one minute, as the API server's own. */
  readonly timeoutMs?: number | undefined
  /**
   * Called synchronously right before an attempt's bytes are handed to the socket, after every wait.
   * What it throws is what the call rejects with, and nothing is sent.
   */
  readonly beforeSend?: (() => void) | undefined
}

export interface Selection {
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined
  readonly fieldSelector?: string | undefined
  readonly labelSelector?: string | undefined
}

export interface ListOptions extends Selection, RequestOptions {
  /** Objects a page; 0 asks for everything in one answer. Default: 500. */
  readonly pageSize?: number | undefined
}

export interface Decoding<T> {
  /**
   * Reads the objects where the server sends them as protobuf, which it is asked for then. Of an object only those
   * fields are there that this reads. Absent: JSON, with all fields.
   */
  readonly message?: MessageReader<T> | undefined
}

export interface Projecting<T, P> extends Decoding<T> {
  /** Sees each object once, while its page is decoded. What it returns undefined for is left out. */
  project(object: T): P | undefined
}

export interface ListPage<P> {
  readonly items: readonly P[]
  /** The same on every page of one list. */
  readonly resourceVersion: string
  readonly continue: string | undefined
}

export interface WatchOptions<T = unknown> extends Selection, Decoding<T> {
  /** Changes after this version. Absent: from any version the server likes, beginning with what exists. */
  readonly resourceVersion?: string | undefined
  /** Streaming list: what exists comes first as ADDED, then a bookmark with `initialEventsEnd`. */
  readonly sendInitialEvents?: boolean | undefined
  /** When the server ends the stream. Default: random within five to ten minutes. */
  readonly timeoutSeconds?: number | undefined
  readonly signal?: AbortSignal | undefined
  /**
   * Sees each change at once when its bytes are decoded. The frames of the watch are then bookmarks and the end only: a
   * promise for each of ten thousand changes costs more than to read them.
   */
  onChange?(change: ChangeFrame<T>): void
  /** Called when the server sends anything, at most ten times a second; heartbeats between frames included. */
  readonly onActivity?: (() => void) | undefined
}

export type ChangeFrame<T> = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
export type BookmarkFrame = {
  readonly type: 'BOOKMARK'
  readonly resourceVersion: string
  /** The streaming list is complete. */
  readonly initialEventsEnd: boolean
}
/** Why a stream is over. */
export type EndFrame = {
  readonly type: 'END'
  /**
   * `closed`: the server ended it in good order. `broken`: the connection was lost in the middle. `silent`: nothing
   * came for too long. `badFrame`: something that is no watch event. `error`: the server sent an ERROR frame.
   */
  readonly why: 'closed' | 'broken' | 'silent' | 'badFrame' | 'error'
  readonly error?: ApiError | undefined
}
export type WatchFrame<T> = ChangeFrame<T> | BookmarkFrame | EndFrame

/**
 * The Kubernetes API. Whatever the server refuses or does not answer is thrown as ApiError; a call that its signal
 * ended rejects with the signal's reason. A 429 or 5xx with Retry-After is tried again here, up to ten times; a 429 more
 * often, until a minute has passed. One that asks for more than half a minute is thrown at once.
 */
export interface KubeClient {
  get<T>(resource: Resource<T>, ref: ObjectRef, options?: RequestOptions): Promise<T>
  /** The namespace is the object's own. */
  create<T>(resource: Resource<T>, object: T, options?: RequestOptions): Promise<T>
  /** PUT of the whole object, guarded by the resourceVersion it carries. */
  replace<T>(resource: Resource<T>, object: T, options?: RequestOptions & SubresourceOption): Promise<T>
  patch<T>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: Patch,
    options?: RequestOptions & SubresourceOption,
  ): Promise<T>
  /** Resolves when the server has accepted it: finalizers may keep the object for longer. */
  delete<T>(resource: Resource<T>, ref: ObjectRef, options?: DeleteOptions): Promise<void>
  /** Page by page; a page is dropped as soon as it is projected. A continue token that expired throws Gone. */
  list<T, P>(resource: Resource<T>, options: ListOptions & Projecting<T, P>): AsyncIterable<ListPage<P>>
  /** The last frame is END, and there is always one unless the signal or the reader ends it. A refused request throws. */
  watch<T>(resource: Resource<T>, options: WatchOptions<NoInfer<T>>): AsyncIterable<WatchFrame<T>>
  /**
   * After a write without an answer its object is read again, and each listener for the resource gets what is there.
   * Returns the undo. Absent in a client whose writes always have an answer.
   */
  onReread?<T>(resource: Resource<T>, listener: RereadListener<T>): () => void
  /** GET of a raw path, as `/apis/storage.k8s.io/v1`. */
  discover(path: string, options?: RequestOptions): Promise<unknown>
}

/** `object` is undefined when there is none of that name. Returns whether that was news. */
export type RereadListener<T> = (ref: ObjectRef, object: T | undefined) => boolean

export interface DeleteOptions extends RequestOptions {
  /** How long a pod may take to end; 0 removes it at once. Absent: as the object itself says. */
  readonly gracePeriodSeconds?: number | undefined
  /** The server refuses to delete an object with another UID. */
  readonly uid?: string | undefined
}

export interface SubresourceOption {
  readonly subresource?: string | undefined
}
