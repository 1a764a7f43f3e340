import type { InProcessServer, LocalRequest } from '@csi-sidecars/emulator'
import {
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
import { type LocalFrame, LocalWatch, NO_ANSWER } from './local-watch.ts'

export interface InProcessClientOptions<E> {
  /** Makes the error of a refusal: `apiErrorOf` of the client library, which this package cannot import. */
  readonly errorOf: (status: Status) => E
  readonly gate?: RequestGate
  /** Watches delay all changes after their initial objects until `deliver` is called. */
  readonly watchesLag?: boolean
  readonly userAgent?: string
  /** Without one, requests are the administrator's. */
  readonly token?: string
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
  readonly timeoutSeconds?: number | undefined
  readonly signal?: AbortSignal | undefined
}

const PAGE_SIZE = 500

/**
 * A KubeClient of the emulator without sockets: each request runs through the server's own handler, its faults and its
 * log. It has no retries and no rate limit.
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
      // Lists of custom resources end with an empty token.
      token = page.metadata.continue || undefined
      const items = page.items.map((item) => listing.project(item)).filter((item) => item !== undefined)
      yield { items, resourceVersion: page.metadata.resourceVersion, continue: token }
    } while (token !== undefined)
  }

  async *watch<T>(resource: Resource<T>, watching: Watching): AsyncGenerator<LocalFrame<T, E>> {
    const { namespace, fieldSelector, labelSelector, resourceVersion, sendInitialEvents, timeoutSeconds } = watching
    const initial = sendInitialEvents === true ? { sendInitialEvents, resourceVersionMatch: 'NotOlderThan' } : {}
    const options = { fieldSelector, labelSelector, resourceVersion, ...initial, timeoutSeconds }
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
    return this.#send({ verb: 'discover', what: path, name: '' }, { method: 'GET', path }, call)
  }

  /** Starts or stops the delay of watches. A delayed watch sends only its initial objects. */
  set watchesLag(lags: boolean) {
    this.#lags = lags
    for (const watch of this.watches) watch.lags = lags
  }

  /** Lets the next frames come that the watches of a resource keep back, or of all resources. */
  deliver(resource?: Resource<unknown>, count?: number): void {
    const path = resource === undefined ? '' : resourcePath(resource, {})
    for (const watch of this.watches) if (watch.path.startsWith(path)) watch.deliver(count)
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
      head: (given) => {
        code = given
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

/** The Status of an answer; the outermost server answers some paths in plain text. */
function refusalIn(code: number, text: string): Status {
  const status = statusOf(parsed(text))
  if (status !== undefined) return status
  return code === 0 ? NO_ANSWER : { kind: 'Status', code, reason: '', message: text.trim() }
}

/** A body that is no JSON is returned as text, as the body of `/healthz`. */
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
  return { verb, what: subresource === undefined ? plural : `${plural}/${subresource}`, name }
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
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '')
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([key, value]) => [key, String(value)]))}`
}
