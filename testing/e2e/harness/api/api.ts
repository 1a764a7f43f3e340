import { Agent, request } from 'node:https'
import { type ObjectMeta, PATCH_CONTENT_TYPES, type Patch, type Resource, resourcePath } from '@csi-sidecars/kube-types'
import { eventually, type WaitOptions } from '../waiting.ts'

/** The address of an API server, its certificate authority as PEM, and the bearer token of a user. */
export interface Endpoint {
  readonly url: string
  readonly ca: string
  readonly token: string
}

/** The name of an object, and its namespace if its resource is namespaced. */
export interface Ref {
  readonly name: string
  readonly namespace?: string | undefined
}

/** An HTTP answer with a code of 400 or more, with the API server's message. */
export class ApiRefusal extends Error {
  readonly code: number
  readonly status: unknown

  constructor(request: string, code: number, status: unknown) {
    const message = typeof status === 'object' && status !== null && 'message' in status ? status.message : status
    super(`${request}: ${code} ${String(message)}`)
    this.code = code
    this.status = status
  }
}

/** The HTTP codes for a missing object, for a conflict, and for an invalid change. */
const REFUSALS = [404, 409, 422]

/** Returns true if the server answered with 404, 409 or 422, and false on success. Throws any other failure. */
export async function refused(request: Promise<unknown>): Promise<boolean> {
  try {
    await request
    return false
  } catch (error) {
    if (error instanceof ApiRefusal && REFUSALS.includes(error.code)) return true
    throw error
  }
}

/** The API client of the tests, with administrator rights, without cache or retries. Shares no code with our client. */
export class Api {
  readonly #endpoint: Endpoint
  readonly #agent: Agent

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint
    this.#agent = new Agent({ keepAlive: true, ca: endpoint.ca, maxSockets: 16 })
  }

  close(): void {
    this.#agent.destroy()
  }

  get<T>(resource: Resource<T>, ref: Ref): Promise<T> {
    return this.call<T>('GET', resourcePath(resource, ref))
  }

  async find<T>(resource: Resource<T>, ref: Ref): Promise<T | undefined> {
    try {
      return await this.get(resource, ref)
    } catch (error) {
      if (error instanceof ApiRefusal && error.code === 404) return undefined
      throw error
    }
  }

  async list<T>(resource: Resource<T>, namespace?: string): Promise<readonly T[]> {
    const { items } = await this.call<{ items: readonly T[] }>('GET', resourcePath(resource, { namespace }))
    return items
  }

  create<T>(resource: Resource<T>, object: T): Promise<T> {
    return this.call<T>('POST', resourcePath(resource, { namespace: namespaceOf(object) }), { body: object })
  }

  replace<T>(resource: Resource<T>, ref: Ref, object: T): Promise<T> {
    return this.call<T>('PUT', resourcePath(resource, ref), { body: object })
  }

  patch<T>(resource: Resource<T>, ref: Ref & { readonly subresource?: string }, patch: Patch): Promise<T> {
    const contentType = PATCH_CONTENT_TYPES[patch.kind]
    return this.call<T>('PATCH', resourcePath(resource, ref), { body: patch.body, contentType })
  }

  merge<T>(resource: Resource<T>, ref: Ref & { readonly subresource?: string }, body: unknown): Promise<T> {
    return this.patch(resource, ref, { kind: 'merge', body })
  }

  /** Deletes an object. Returns true if finalizers keep it. */
  async delete(resource: Resource<unknown>, ref: Ref): Promise<boolean> {
    const options = { gracePeriodSeconds: 0, propagationPolicy: 'Background' }
    const answer = await this.call<{ readonly metadata?: ObjectMeta }>('DELETE', resourcePath(resource, ref), {
      body: options,
    })
    return (answer.metadata?.finalizers ?? []).length > 0
  }

  /** Waits until the object satisfies `holds`, and returns it. */
  async until<T>(resource: Resource<T>, ref: Ref & WaitOptions, holds: (object: T) => boolean | undefined): Promise<T> {
    let last: T | undefined
    try {
      return await eventually(
        `${resource.kind} ${ref.name} as expected`,
        async () => {
          last = await this.find(resource, ref)
          return last !== undefined && holds(last) ? last : false
        },
        ref,
      )
    } catch (error) {
      throw new Error(`${resource.kind} ${ref.name} stayed ${JSON.stringify(last)}`, { cause: error })
    }
  }

  async untilGone(resource: Resource<unknown>, ref: Ref, wait?: WaitOptions): Promise<void> {
    const gone = async (): Promise<boolean> => (await this.find(resource, ref)) === undefined
    await eventually(`${resource.kind} ${ref.name} gone`, gone, wait)
  }

  async call<T>(
    method: string,
    path: string,
    { body, contentType = 'application/json' }: { body?: unknown; contentType?: string } = {},
  ): Promise<T> {
    const content = body === undefined ? undefined : { body: JSON.stringify(body), contentType }
    const { code, text } = await this.#send(method, path, content)
    const answer = text.startsWith('{') ? JSON.parse(text) : text
    if (code >= 400) throw new ApiRefusal(`${method} ${path}`, code, answer)
    return answer
  }

  #send(
    method: string,
    path: string,
    content: { readonly body: string; readonly contentType: string } | undefined,
  ): Promise<{ code: number; text: string }> {
    const { url, token } = this.#endpoint
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'application/json',
      ...(content && { 'content-type': content.contentType, 'content-length': Buffer.byteLength(content.body) }),
    }
    return new Promise((resolve, reject) => {
      const sent = request(new URL(path, url), { method, agent: this.#agent, headers })
      sent.on('error', reject)
      sent.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => resolve({ code: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }))
      })
      sent.end(content?.body)
    })
  }
}

function namespaceOf(object: unknown): string | undefined {
  if (typeof object !== 'object' || object === null || !('metadata' in object)) return undefined
  const { metadata } = object
  if (typeof metadata !== 'object' || metadata === null || !('namespace' in metadata)) return undefined
  return typeof metadata.namespace === 'string' ? metadata.namespace : undefined
}
