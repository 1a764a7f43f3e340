import { abortable, type Clock } from '@csi-sidecars/base'
import { createInProcessServer, type InProcessServer } from '@csi-sidecars/emulator'
import type { KubeObject, ObjectRef, Resource } from '@csi-sidecars/kube-types'
import { InProcessClient, type InProcessClientOptions } from './client.ts'
import { OPEN_GATE, type Outgoing, type Passing, type RequestGate, type SentRequest } from './gate.ts'

/** Throws, or returns, before or after a request has taken effect. May wait; `HANG` never answers. */
export type FakeApiFault = (request: SentRequest) => unknown
export const HANG = Symbol('no answer')

export interface FakeApiOptions<E> extends Pick<InProcessClientOptions<E>, 'errorOf'> {
  readonly clock: Clock
  /** False: no patch is validated. */
  readonly validates?: boolean
}

/** The emulator without sockets, with other writers and with faults: the API server of tests of controllers. */
export class FakeApi<E extends Error> {
  readonly server: InProcessServer
  /** The requests that `client` has sent, in order. */
  readonly requests: SentRequest[] = []
  /** The requests of all clients that reached the server, in order. */
  readonly served: SentRequest[] = []
  readonly client: InProcessClient<E>
  /** Runs before a request takes effect. An error that it throws is the answer. */
  before: FakeApiFault = () => undefined
  /** Runs after a request has taken effect. An error that it throws replaces the answer. */
  after: FakeApiFault = () => undefined
  /** Called with each request as it is sent. */
  onRequest: (request: SentRequest) => void = () => undefined
  readonly #errorOf: InProcessClientOptions<E>['errorOf']

  constructor({ errorOf, ...options }: FakeApiOptions<E>) {
    this.server = createInProcessServer({ keptRequests: 0, ...options })
    this.#errorOf = errorOf
    this.client = this.newClient({ gate: { pass: (...sent) => this.#pass(...sent) } })
  }

  /** A request without a fault. */
  newClient({ gate = OPEN_GATE, ...options }: Omit<InProcessClientOptions<E>, 'errorOf'> = {}): InProcessClient<E> {
    const pass: RequestGate['pass'] = (outgoing, effect, passing) => {
      const serve = (): ReturnType<typeof effect> => {
        if (outgoing.request !== undefined) this.served.push(outgoing.request)
        return effect()
      }
      return gate.pass(outgoing, serve, passing)
    }
    return new InProcessClient(this.server, { errorOf: this.#errorOf, ...options, gate: { pass } })
  }

  /** Creates or replaces, as another writer does. */
  put<T extends KubeObject>(resource: Resource<T>, object: T): T {
    const { namespace, name = '' } = object.metadata ?? {}
    const ref = { namespace, name }
    if (this.server.get(resource, ref) === undefined) return this.server.create(resource, object)
    return this.server.update(resource, ref, ({ metadata }) => ({
      ...object,
      metadata: { ...metadata, ...object.metadata },
    }))
  }

  /** Changes an object by a merge patch, as another writer does. Ignores objects that do not exist. */
  edit<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, body: object): void {
    if (this.server.get(resource, ref) !== undefined) this.server.edit(resource, ref, body)
  }

  /** Deletes an object like DELETE. Ignores objects that do not exist. */
  delete(resource: Resource<KubeObject>, ref: ObjectRef): void {
    if (this.server.get(resource, ref) !== undefined) this.server.delete(resource, ref)
  }

  /** The writes of all clients. */
  get writes(): readonly SentRequest[] {
    return this.served.filter(({ verb }) => verb === 'patch' || verb === 'create' || verb === 'replace')
  }

  async #pass<T>({ request }: Outgoing, effect: () => Promise<T>, { signal, beforeSend }: Passing = {}): Promise<T> {
    if (request === undefined) return effect()
    this.requests.push(request)
    this.onRequest(request)
    await answered(this.before(request), signal)
    // A caller that has ended by now has never sent it.
    beforeSend?.()
    const result = await effect()
    await answered(this.after(request), signal)
    return result
  }
}

/** Without an answer the request waits until it is given up. */
async function answered(fault: unknown, signal: AbortSignal | undefined): Promise<void> {
  if ((await fault) === HANG) await abortable(new Promise(() => undefined), signal)
}
