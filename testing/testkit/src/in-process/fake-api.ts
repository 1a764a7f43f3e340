import { abortable, type Clock } from '@csi-sidecars/base'
import { createInProcessServer, type InProcessServer } from '@csi-sidecars/emulator'
import type { KubeObject, ObjectRef, Resource } from '@csi-sidecars/kube-types'
import { InProcessClient, type InProcessClientOptions } from './client.ts'
import { OPEN_GATE, type Outgoing, type Passing, type RequestGate, type SentRequest } from './gate.ts'

/** A hook that runs before or after a request takes effect. It may wait, throw an error, or return `HANG`. */
export type FakeApiFault = (request: SentRequest) => unknown
export const HANG = Symbol('no answer')

/** The clock and the errors of a fake API server. By default it validates patches, as the real one does. */
export interface FakeApiOptions<E> extends Pick<InProcessClientOptions<E>, 'errorOf'> {
  readonly clock: Clock
  /** False to accept patches without validation. */
  readonly validates?: boolean
}

/** A fake API server for tests of controllers: the emulator without sockets, with hooks for faults. */
export class FakeApi<E extends Error> {
  readonly server: InProcessServer
  /** The requests that `client` has sent, in order. */
  readonly requests: SentRequest[] = []
  /** The requests of all clients that reached the server, in order. */
  readonly served: SentRequest[] = []
  readonly client: InProcessClient<E>
  /** A hook that runs before a request takes effect. If the hook throws an error, the request fails with it. */
  before: FakeApiFault = () => undefined
  /** A hook that runs after a request has taken effect. If the hook throws an error, the request fails with it. */
  after: FakeApiFault = () => undefined
  /** Called with each request as it is sent. */
  onRequest: (request: SentRequest) => void = () => undefined
  readonly #errorOf: InProcessClientOptions<E>['errorOf']

  constructor({ errorOf, ...options }: FakeApiOptions<E>) {
    this.server = createInProcessServer({ keptRequests: 0, ...options })
    this.#errorOf = errorOf
    this.client = this.newClient({ gate: { pass: (...sent) => this.#pass(...sent) } })
  }

  /** Creates another client, whose requests do not pass the fault hooks. */
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

  /** Creates or replaces an object, as another writer does. */
  store<T extends KubeObject>(resource: Resource<T>, object: T): T {
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

  /** Deletes an object as a DELETE request does. Ignores objects that do not exist. */
  delete(resource: Resource<KubeObject>, ref: ObjectRef): void {
    if (this.server.get(resource, ref) !== undefined) this.server.delete(resource, ref)
  }

  /** Returns the patches, creations and replacements of all clients. */
  get writes(): readonly SentRequest[] {
    return this.served.filter(({ verb }) => verb === 'patch' || verb === 'create' || verb === 'replace')
  }

  async #pass<T>({ request }: Outgoing, effect: () => Promise<T>, { signal, beforeSend }: Passing = {}): Promise<T> {
    if (request === undefined) return effect()
    this.requests.push(request)
    this.onRequest(request)
    await answered(this.before(request), signal)
    // A caller that has ended during the hook must not send the request.
    beforeSend?.()
    const result = await effect()
    await answered(this.after(request), signal)
    return result
  }
}

/** Waits for the result of a hook. If it is `HANG`, waits until the signal is aborted. */
async function answered(fault: unknown, signal: AbortSignal | undefined): Promise<void> {
  if ((await fault) === HANG) await abortable(new Promise(() => undefined), signal)
}
