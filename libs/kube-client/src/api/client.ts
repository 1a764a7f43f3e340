import type { MessageReader, ObjectRef, Patch, Resource } from '@csi-sidecars/kube-types'
import type { ApiError } from './api-error.ts'

/** The lane of a request. Each lane has separate connections and limits, so `work` never delays a Lease renewal. */
export type LaneName = 'work' | 'lease'

/**
 * The priority of a request that is not urgent. It is sent when no other request waits and flow control has room.
 * - `background` waits without a time limit, and is not retried after a refusal. It suits requests that may be lost.
 * - `low` waits for at most ten seconds and then queues like other requests. It suits retries, which must progress.
 */
export type RequestPriority = 'low' | 'background'

/** The options of every request. All are optional. */
export interface RequestOptions {
  /** Ends every wait of the call when aborted. The call rejects with its reason. */
  readonly signal?: AbortSignal | undefined
  /** The lane of the request. Default: `work`. */
  readonly lane?: LaneName | undefined
  readonly priority?: RequestPriority | undefined
  /** True if the caller also works without the permission. A 403 then does not count as a missing permission. */
  readonly optional?: boolean | undefined
  /** True if an open connection may be dead. Default: false. */
  readonly newConnection?: boolean | undefined
  /** The time limit of one attempt, from its first byte sent. Default: one minute, as in the API server. */
  readonly timeoutMs?: number | undefined
  /**
   * Called immediately before the bytes of an attempt are written to the socket. If it throws, nothing is sent, and the
   * call rejects with the error.
   */
  readonly beforeSend?: (() => void) | undefined
}

/** The objects of a list or a watch. By default all. */
export interface Selection {
  /** The namespace. If absent, all namespaces. */
  readonly namespace?: string | undefined
  readonly fieldSelector?: string | undefined
  readonly labelSelector?: string | undefined
}

/** The options of a list. */
export interface ListOptions extends Selection, RequestOptions {
  /** The number of objects in a page. 0: all in one answer. Default: 500. */
  readonly pageSize?: number | undefined
}

/** How the objects of a read are decoded. */
export interface Decoding<T> {
  /**
   * Decodes objects from protobuf, which the client then requests. The objects have only the fields that the reader
   * reads. If absent, the client requests JSON with all fields.
   */
  readonly message?: MessageReader<T> | undefined
}

/** How the objects of a list become the items that the caller keeps. */
export interface Projecting<T, P> extends Decoding<T> {
  /** Converts an object into the item that the list returns. Returns undefined to leave the object out of the list. */
  project(object: T): P | undefined
}

/** One page of a list. */
export interface ListPage<P> {
  readonly items: readonly P[]
  /** The version of the list, which is the same on all its pages. */
  readonly resourceVersion: string
  readonly continue: string | undefined
}

/** The options of a watch. */
export interface WatchOptions<T = unknown> extends Selection, Decoding<T> {
  /**
   * The watch reports changes after this version. If absent, the server chooses a version and first sends the existing
   * objects.
   */
  readonly resourceVersion?: string | undefined
  /** True if the stream begins with a list and its bookmark. Default: false. */
  readonly sendInitialEvents?: boolean | undefined
  /** True if the caller also works without the permission. A 403 then does not count as a missing permission. */
  readonly optional?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  /**
   * Receives each change as soon as it is decoded. The watch then returns only bookmarks and its end, because a promise
   * for each change costs more than the decoding.
   */
  onChange?(change: ChangeFrame<T>): void
  /** Called for any bytes, even heartbeats. At most ten times a second. */
  readonly onActivity?: (() => void) | undefined
}

export type ChangeFrame<T> = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
export type BookmarkFrame = {
  readonly type: 'BOOKMARK'
  readonly resourceVersion: string
  /** True if the bookmark follows the last existing object of a streaming list. */
  readonly initialEventsEnd: boolean
}
/** The end of a stream, with its reason. */
export type EndFrame = {
  readonly type: 'END'
  /**
   * `closed`: the server ended the stream regularly. `broken`: the connection was lost. `silent`: the server sent
   * nothing for too long. `badFrame`: the server sent something other than a watch event. `error`: the server sent an
   * ERROR frame.
   */
  readonly why: 'closed' | 'broken' | 'silent' | 'badFrame' | 'error'
  readonly error?: ApiError | undefined
}
export type WatchFrame<T> = ChangeFrame<T> | BookmarkFrame | EndFrame

/**
 * A client of the Kubernetes API. Controllers read and write all objects through it.
 *
 * Guarantees:
 * - It retries a 429, and a 5xx with Retry-After, up to ten times. It retries a 429 for at least a minute.
 * - An aborted signal ends every wait of a call.
 * - It does not send a write again if the outcome of the write is unknown.
 *
 * Caveats:
 * - It throws a refusal at once if its Retry-After is above 30 s in the lane `work`, or 1 s in the lane `lease`.
 * - The server ends a watch after five to ten minutes. The caller opens the next watch.
 *
 * Errors:
 * - Throws ApiError if the server refuses a request or does not answer it.
 * - Rejects with the reason of the signal if the signal ends the call.
 * - Rejects with the error of `beforeSend` if it throws.
 */
export interface KubeClient {
  get<T>(resource: Resource<T>, ref: ObjectRef, options?: RequestOptions): Promise<T>
  /** Creates the object in the namespace in its metadata. */
  create<T>(resource: Resource<T>, object: T, options?: RequestOptions): Promise<T>
  /** Replaces the whole object with a PUT. The server refuses the PUT with 409 if `resourceVersion` is outdated. */
  replace<T>(resource: Resource<T>, object: T, options?: RequestOptions & SubresourceOption): Promise<T>
  patch<T>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: Patch,
    options?: RequestOptions & SubresourceOption,
  ): Promise<T>
  /** Resolves when the deletion is accepted. Finalizers may keep the object for longer. */
  delete<T>(resource: Resource<T>, ref: ObjectRef, options?: DeleteOptions): Promise<void>
  /** Lists page by page, and drops each page after its projection. Throws Gone if the continue token has expired. */
  list<T, P>(resource: Resource<T>, options: ListOptions & Projecting<T, P>): AsyncIterable<ListPage<P>>
  /**
   * Opens a watch. Its last frame is END, unless the signal or the reader ends the watch. Throws if the server refuses
   * it.
   */
  watch<T>(resource: Resource<T>, options: WatchOptions<NoInfer<T>>): AsyncIterable<WatchFrame<T>>
  /**
   * Adds a listener for objects that the client reads again after a write without an answer. Returns a function that
   * removes the listener. Absent in a client whose writes always get an answer.
   */
  onReread?<T>(resource: Resource<T>, listener: RereadListener<T>): () => void
  /** Reads a raw path with a GET, such as `/apis/storage.k8s.io/v1`. */
  discover(path: string, options?: RequestOptions): Promise<unknown>
}

/**
 * Receives the current object, or undefined if it does not exist. Returns whether this state is new to the listener.
 */
export type RereadListener<T> = (ref: ObjectRef, object: T | undefined) => boolean

/** The options of a deletion. */
export interface DeleteOptions extends RequestOptions {
  /** The seconds that a pod may take to end; 0 deletes it at once. Default: the period in the pod itself. */
  readonly gracePeriodSeconds?: number | undefined
  /** The server refuses to delete an object with another UID. */
  readonly uid?: string | undefined
}

/** Chooses a subresource, such as `status`. Default: the object itself. */
export interface SubresourceOption {
  readonly subresource?: string | undefined
}

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One request to the API server, without its connection and credentials. */
export interface ApiRequest {
  readonly method: HttpMethod
  /** The path with its query, already escaped. */
  readonly path: string
  readonly body?: { readonly type: string; readonly text: string } | undefined
  /** The accepted media types, as the value of the header `Accept`. Default: JSON. */
  readonly accept?: string | undefined
  /** The resource, for errors and for the flow control of its API group. */
  readonly resource?: Resource<unknown> | undefined
  readonly name?: string | undefined
  readonly options?: RequestOptions | undefined
}

export type QueryValue = string | number | boolean | undefined

/** Returns a query such as `?a=b&c=d` in the given order, without absent and empty values. */
export function query(values: Readonly<Record<string, QueryValue>>): string {
  let text = ''
  for (const name in values) {
    const value = values[name]
    if (value === undefined || value === '') continue
    text += `${text === '' ? '?' : '&'}${name}=${encodeURIComponent(value)}`
  }
  return text
}
