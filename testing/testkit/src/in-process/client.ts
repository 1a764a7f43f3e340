import { ApiFailure, type InProcessServer, type LocalRequest, patchedObject } from '@csi-sidecars/emulator'
import {
  isJsonObject,
  type KubeObject,
  type ObjectRef,
  PATCH_CONTENT_TYPES,
  type Patch,
  type Resource,
  resourcePath,
  type Status,
  statusOf,
} from '@csi-sidecars/kube-types'
import { OPEN_GATE, type RequestGate, type SentRequest } from './gate.ts'

/** One event of a watch, as `KubeClient.watch` yields it. */
type LocalFrame<T, E> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd: boolean }
  | { readonly type: 'END'; readonly why: 'closed' | 'broken' | 'badFrame' | 'error'; readonly error?: E | undefined }

interface LocalWatchOptions<E> {
  readonly server: InProcessServer
  readonly request: LocalRequest
  readonly errorOf: (status: Status) => E
  /** Delays all changes until `deliver` is called. The initial objects of the watch are not delayed. */
  readonly lags: boolean
}

/** The errors, the identity and the delays of one client of the in-process API server. */
export interface InProcessClientOptions<E> {
  /** Creates the error for a refused request from its Status. Usually `apiErrorOf`. */
  readonly errorOf: (status: Status) => E
  /** Default: requests pass without delay. */
  readonly gate?: RequestGate
  /** True if watches delay all events after the initial objects until `deliver` is called. */
  readonly watchesLag?: boolean
  readonly userAgent?: string
  /** The bearer token. Default: requests have administrator rights. */
  readonly token?: string
}

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end'

/** One watch of the in-process server. It parses the lines of the answer and yields them as frames. */
class LocalWatch<T, E extends Error> {
  readonly path: string
  readonly #errorOf: (status: Status) => E
  readonly #ready: LocalFrame<T, E>[] = []
  readonly #late: LocalFrame<T, E>[] = []
  readonly #leave: () => void
  readonly #begun = Promise.withResolvers<void>()
  #wake = Promise.withResolvers<void>()
  #lags: boolean
  #initial: boolean
  #code = 0
  #text = ''

  constructor({ server, request, errorOf, lags }: LocalWatchOptions<E>) {
    this.path = request.path
    this.#errorOf = errorOf
    this.#lags = lags
    this.#initial = request.path.includes('sendInitialEvents=true')
    this.#leave = server.exchange(request, {
      head: (code) => {
        this.#code = code
        if (code === 200) this.#begun.resolve()
      },
      chunk: (text) => this.#read(text),
      end: (how) => this.#end(how),
    })
  }

  /** Resolves when the server has accepted the watch. Rejects if the server refuses it. */
  get begun(): Promise<void> {
    return this.#begun.promise
  }

  /** Delivers the next `count` delayed frames. Default: all. */
  deliver(count = Number.POSITIVE_INFINITY): void {
    for (const frame of this.#late.splice(0, count)) this.#push(frame)
  }

  /** Drops the delayed frames and ends the watch, as a broken connection does. */
  loseDelayed(): void {
    this.#late.length = 0
    this.#push({ type: 'END', why: 'broken' })
  }

  /** If true, delays later frames. False delivers the delayed frames. */
  set lags(lags: boolean) {
    this.#lags = lags
    if (!lags) this.deliver()
  }

  /** Ends the watch when its reader stops. */
  close(): void {
    this.#leave()
  }

  async *frames(signal: AbortSignal | undefined): AsyncGenerator<LocalFrame<T, E>> {
    const wake = (): void => this.#wake.resolve()
    signal?.addEventListener('abort', wake, { once: true })
    try {
      for (;;) {
        signal?.throwIfAborted()
        const frame = this.#ready.shift()
        if (frame === undefined) {
          this.#wake = Promise.withResolvers()
          await this.#wake.promise
          continue
        }
        yield frame
        if (frame.type === 'END') return
      }
    } finally {
      signal?.removeEventListener('abort', wake)
    }
  }

  #read(text: string): void {
    this.#text += text
    if (this.#code !== 200) return
    const lines = this.#text.split('\n')
    this.#text = lines.pop() ?? ''
    for (const line of lines) this.#arrive(this.#frameOf(line))
  }

  #end(how: 'closed' | 'cut'): void {
    if (this.#code === 200) return this.#arrive({ type: 'END', why: how === 'closed' ? 'closed' : 'broken' })
    this.#begun.reject(this.#errorOf(statusOf(eventIn(this.#text)) ?? NO_ANSWER))
  }

  #arrive(frame: LocalFrame<T, E>): void {
    if (this.#lags && !this.#initial && frame.type !== 'END') {
      this.#late.push(frame)
      return
    }
    // Delayed events are delivered first, so that the order is kept.
    this.deliver()
    this.#push(frame)
    if (frame.type === 'BOOKMARK' && frame.initialEventsEnd) this.#initial = false
  }

  #push(frame: LocalFrame<T, E>): void {
    this.#ready.push(frame)
    this.#wake.resolve()
  }

  #frameOf(line: string): LocalFrame<T, E> {
    const event = eventIn(line)
    switch (event?.type) {
      case 'ADDED':
      case 'MODIFIED':
      case 'DELETED':
        return { type: event.type, object: event.object as T }
      case 'BOOKMARK': {
        const { resourceVersion = '', annotations } = event.object.metadata ?? {}
        return { type: 'BOOKMARK', resourceVersion, initialEventsEnd: annotations?.[INITIAL_EVENTS_END] === 'true' }
      }
      case 'ERROR':
        return { type: 'END', why: 'error', error: this.#errorOf(event.object as Status) }
      default:
        return {
          type: 'END',
          why: 'badFrame',
          error: this.#errorOf({ ...NO_ANSWER, message: `no watch event: ${line}` }),
        }
    }
  }
}

/** The error of a client for a lost connection. Code 0 means no answer. */
const NO_ANSWER: Status = { kind: 'Status', code: 0, reason: '', message: 'connection reset by peer' }

function eventIn(text: string): { readonly type?: unknown; readonly object: KubeObject } | undefined {
  try {
    return JSON.parse(text) as { readonly object: KubeObject }
  } catch {
    // The caller treats a line that is not JSON as a bad frame.
    return undefined
  }
}

/**
 * Applies a patch of any type as the emulator does, but without validation and without a new `resourceVersion`. Omits
 * empty fields. Throws the error of `errorOf` if the patch fails.
 */
export function applyPatch<T extends object>(
  object: T,
  patch: Patch,
  { resource, errorOf }: { readonly resource: Resource<T>; readonly errorOf: (status: Status) => Error },
): T {
  try {
    const change = { contentType: PATCH_CONTENT_TYPES[patch.kind], body: patch.body }
    return withoutEmpty(patchedObject(resource, { metadata: {}, ...object }, change)) as T
  } catch (error) {
    if (error instanceof ApiFailure) throw errorOf(error.status() as unknown as Status)
    throw error
  }
}

function withoutEmpty(value: unknown): unknown {
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).map(([key, inner]) => [key, withoutEmpty(inner)] as const)
  return Object.fromEntries(entries.filter(([, inner]) => !isEmpty(inner)))
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

interface Call {
  readonly signal?: AbortSignal | undefined
  readonly beforeSend?: (() => void) | undefined
  readonly priority?: string | undefined
}

interface Subresource {
  readonly subresource?: string | undefined
}

interface Selection {
  readonly namespace?: string | undefined
  readonly fieldSelector?: string | undefined
  readonly labelSelector?: string | undefined
}

interface Listing<T, P> extends Selection, Call {
  readonly pageSize?: number | undefined
  project(object: T): P | undefined
}

interface Watching extends Selection {
  readonly resourceVersion?: string | undefined
  readonly sendInitialEvents?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

const PAGE_SIZE = 500

/**
 * A `KubeClient` for the emulated API server in the same process, without sockets. Each request passes the handler, the
 * fault rules and the request log of the server. It has no retries and no rate limit.
 */
export class InProcessClient<E extends Error> {
  readonly watches = new Set<LocalWatch<unknown, E>>()
  readonly #server: InProcessServer
  readonly #options: InProcessClientOptions<E>
  readonly #gate: RequestGate
  #lags: boolean

  constructor(server: InProcessServer, options: InProcessClientOptions<E>) {
    this.#server = server
    this.#options = options
    this.#gate = options.gate ?? OPEN_GATE
    this.#lags = options.watchesLag ?? false
  }

  async get<T>(resource: Resource<T>, ref: ObjectRef, call?: Call): Promise<T> {
    return await this.#send(sent('get', resource, ref), { method: 'GET', path: resourcePath(resource, ref) }, call)
  }

  create<T>(resource: Resource<T>, object: T, call?: Call): Promise<T> {
    const { namespace, name = '' } = metadataOf(object) ?? {}
    const request = { method: 'POST', path: resourcePath(resource, { namespace }), body: json(object) }
    return this.#send({ ...sent('create', resource, { name }), body: object }, request, call)
  }

  replace<T>(resource: Resource<T>, object: T, call: Call & Subresource = {}): Promise<T> {
    const { namespace, name = '' } = metadataOf(object) ?? {}
    const ref = { namespace, name, subresource: call.subresource }
    const request = { method: 'PUT', path: resourcePath(resource, ref), body: json(object) }
    return this.#send({ ...sent('replace', resource, ref), body: object }, request, call)
  }

  patch<T>(resource: Resource<T>, ref: ObjectRef, patch: Patch, call: Call & Subresource = {}): Promise<T> {
    const target = { ...ref, subresource: call.subresource }
    const body = { type: PATCH_CONTENT_TYPES[patch.kind], text: JSON.stringify(patch.body) }
    const request = { method: 'PATCH', path: resourcePath(resource, target), body }
    return this.#send({ ...sent('patch', resource, target), body: patch.body, priority: call.priority }, request, call)
  }

  async delete<T>(
    resource: Resource<T>,
    ref: ObjectRef,
    call: Call & { readonly gracePeriodSeconds?: number | undefined; readonly uid?: string | undefined } = {},
  ): Promise<void> {
    const path = resourcePath(resource, ref) + query({ gracePeriodSeconds: call.gracePeriodSeconds })
    const body = call.uid === undefined ? {} : { body: json({ preconditions: { uid: call.uid } }) }
    await this.#send(sent('delete', resource, ref), { method: 'DELETE', path, ...body }, call)
  }

  async *list<T, P>(resource: Resource<T>, listing: Listing<T, P>) {
    const { namespace, fieldSelector, labelSelector, pageSize = PAGE_SIZE } = listing
    let token: string | undefined
    do {
      const options = { continue: token, fieldSelector, labelSelector, limit: pageSize === 0 ? undefined : pageSize }
      const path = resourcePath(resource, { namespace }) + query(options)
      const request = { method: 'GET', path }
      const page = await this.#send<ObjectList<T>>(sent('list', resource, { name: namespace ?? '' }), request, listing)
      // The last page of a list of custom resources has an empty continue token.
      token = page.metadata.continue || undefined
      const items = page.items.map((item) => listing.project(item)).filter((item) => item !== undefined)
      yield { items, resourceVersion: page.metadata.resourceVersion, continue: token }
    } while (token !== undefined)
  }

  async *watch<T>(resource: Resource<T>, watching: Watching): AsyncGenerator<LocalFrame<T, E>> {
    const { namespace, fieldSelector, labelSelector, resourceVersion, sendInitialEvents } = watching
    const initial = sendInitialEvents === true ? { sendInitialEvents, resourceVersionMatch: 'NotOlderThan' } : {}
    const options = { fieldSelector, labelSelector, resourceVersion, ...initial }
    const path = resourcePath(resource, { namespace }) + query({ watch: true, allowWatchBookmarks: true, ...options })
    const { errorOf } = this.#options
    watching.signal?.throwIfAborted()
    const request = sent('watch', resource, { name: namespace ?? '' })
    await this.#gate.pass({ label: `watch ${resource.plural}`, write: false, request }, async () => undefined, watching)
    const watch = new LocalWatch<T, E>({
      server: this.#server,
      request: this.#request('GET', path),
      errorOf,
      lags: this.#lags,
    })
    this.watches.add(watch)
    try {
      await watch.begun
      yield* watch.frames(watching.signal)
    } finally {
      this.watches.delete(watch)
      watch.close()
    }
  }

  discover(path: string, call?: Call): Promise<unknown> {
    return this.#send({ verb: 'discover', resource: path, name: '' }, { method: 'GET', path }, call)
  }

  /** If true, watches delay all events after the initial objects. False delivers the delayed events. */
  set watchesLag(lags: boolean) {
    this.#lags = lags
    for (const watch of this.watches) watch.lags = lags
  }

  /** Drops the delayed frames of the watches of a resource and ends these watches. */
  loseDelayed(resource: Resource<unknown>): void {
    for (const watch of this.watches) if (watch.path.startsWith(resourcePath(resource, {}))) watch.loseDelayed()
  }

  /** Delivers the next `count` delayed frames to the watches of a resource, or to all watches. */
  deliver(resource?: Resource<unknown>, count?: number): void {
    const path = resource === undefined ? '' : resourcePath(resource, {})
    for (const watch of this.watches) {
      if (watch.path.startsWith(path)) watch.deliver(count)
    }
  }

  async #send<R>(
    request: SentRequest,
    { method, path, body }: Pick<LocalRequest, 'method' | 'path' | 'body'>,
    call: Call = {},
  ): Promise<R> {
    call.signal?.throwIfAborted()
    call.beforeSend?.()
    const label = `${request.verb} ${path.replace(/^\/apis?\/([^/]+\/)?v1\//, '').replace(/\?.*/, '')}`
    const outgoing = { label, write: method !== 'GET', request }
    const effect = (): Promise<R> => this.#roundTrip(this.#request(method, path, body), call.signal)
    return await this.#gate.pass(outgoing, effect, call)
  }

  #request(method: string, path: string, body?: LocalRequest['body']): LocalRequest {
    const { userAgent, token } = this.#options
    return { method, path, body, userAgent, token }
  }

  #roundTrip<R>(request: LocalRequest, signal: AbortSignal | undefined): Promise<R> {
    const { promise, resolve, reject } = Promise.withResolvers<R>()
    let code = 0
    let text = ''
    const leave = this.#server.exchange(request, {
      head: (status) => {
        code = status
      },
      chunk: (part) => {
        text += part
      },
      end: () => {
        signal?.removeEventListener('abort', abort)
        if (code >= 200 && code < 300) resolve(parsed(text) as R)
        else reject(this.#options.errorOf(refusalIn(code, text)))
      },
    })
    const abort = (): void => {
      reject(signal?.reason)
      leave()
    }
    signal?.addEventListener('abort', abort, { once: true })
    return promise
  }
}

/** Returns the Status of a refused request. A plain-text answer becomes the message of the Status. */
function refusalIn(code: number, text: string): Status {
  const status = statusOf(parsed(text))
  if (status !== undefined) return status
  return code === 0 ? NO_ANSWER : { kind: 'Status', code, reason: '', message: text.trim() }
}

/** Parses a body as JSON. Returns other bodies, such as the body of `/healthz`, as text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function sent(
  verb: SentRequest['verb'],
  { plural }: Resource<unknown>,
  { name, subresource }: ObjectRef & Subresource,
): SentRequest {
  return { verb, resource: subresource === undefined ? plural : `${plural}/${subresource}`, name }
}

interface ObjectList<T> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
  readonly items: readonly T[]
}

function json(object: unknown): { type: string; text: string } {
  return { type: 'application/json', text: JSON.stringify(object) }
}

function metadataOf(object: unknown): KubeObject['metadata'] {
  return (object as KubeObject).metadata
}

function query(values: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const present = Object.entries(values).filter(([, value]) => value !== undefined && value !== '')
  return present.length === 0 ? '' : `?${new URLSearchParams(present.map(([key, value]) => [key, String(value)]))}`
}
