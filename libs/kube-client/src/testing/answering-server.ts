import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { FakeClock } from '@csi-sidecars/base/testing'
import { PERSISTENT_VOLUMES, type PersistentVolume } from '@csi-sidecars/kube-types'
import { Metrics, silentLogger, type Tracer } from '@csi-sidecars/telemetry'
import type { RequestOptions } from '../api/client.ts'
import { type Credentials, fixedCredentials } from '../config/cluster-config.ts'
import { createKubeClient, type KubeClientOptions, type OwnedKubeClient } from '../create-client.ts'
import type { FlowOptions } from '../flow/policy.ts'

/** One request that the server has received. `at` is the time of its arrival, in milliseconds of the test's clock. */
export interface Seen {
  readonly call: string
  readonly authorization: string | undefined
  readonly traceparent: string | undefined
  readonly at: number
  readonly socket: Socket
}

export const OBJECT = JSON.stringify({ metadata: { name: 'pv', resourceVersion: '1' } })
export const UNLIMITED: FlowOptions = { kind: 'bucket', qps: -1, burst: 0, perGroup: false }

export type Answering = (response: ServerResponse, request: IncomingMessage) => void

export const ok: Answering = (response) => void response.end(OBJECT)
export const refuse =
  (code: number, headers: Record<string, string> = {}, body = ''): Answering =>
  (response) =>
    void response.writeHead(code, { 'Content-Type': 'text/plain', ...headers }).end(body)

/** A real server on the loopback address with scripted answers, and the clients of one test. */
export class AnsweringServer {
  readonly seen: Seen[] = []
  readonly metrics = new Metrics()
  answer: Answering = ok
  /** The tracer of clients that the test creates later. */
  tracer: Tracer | undefined
  readonly #clock: FakeClock
  readonly #server: Server
  readonly #clients: OwnedKubeClient[] = []

  static async start(clock: FakeClock): Promise<AnsweringServer> {
    const started = new AnsweringServer(clock)
    await new Promise<void>((resolve) => started.#server.listen(0, '127.0.0.1', resolve))
    return started
  }

  private constructor(clock: FakeClock) {
    this.#clock = clock
    this.#server = createServer((request, response) => {
      const { method, url, headers, socket } = request
      this.seen.push({
        call: `${method} ${url}`,
        authorization: headers.authorization,
        traceparent: headers['traceparent']?.toString(),
        at: clock.monotonic(),
        socket,
      })
      request.resume().on('end', () => this.answer(response, request))
    })
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  connect(
    flow: FlowOptions = UNLIMITED,
    credentials: Credentials = fixedCredentials('Bearer t'),
    { log = silentLogger, ...more }: Partial<Pick<KubeClientOptions, 'log' | 'missing'>> = {},
  ): OwnedKubeClient {
    const config = {
      origin: `http://127.0.0.1:${this.port}`,
      basePath: '',
      tls: undefined,
      credentials,
      headers: [],
      proxy: undefined,
    }
    const { metrics, tracer } = this
    const common = { clock: this.#clock, log, metrics, tracer, userAgent: 'test' }
    const client = createKubeClient({ config, flow, ...common, ...more })
    this.#clients.push(client)
    return client
  }

  /** Closes the listener, but no connections. */
  stopListening(): void {
    this.#server.close()
  }

  /** Returns a function that answers the first `count` requests with `how`, and later requests with a success. */
  first(count: number, how: Answering): Answering {
    return (response, request) => (this.seen.length <= count ? how(response, request) : ok(response, request))
  }

  /** Waits until the condition is true. The wait takes real time, and the fake clock does not advance. */
  async until(condition: () => boolean): Promise<void> {
    for (let turn = 0; turn < 5000 && !condition(); turn += 1) await this.#clock.settle()
    if (!condition()) throw new Error(`never came true: ${condition}`)
  }

  /** Gives real sockets enough time to deliver a request that the client should not send. */
  async quiet(): Promise<void> {
    for (let turn = 0; turn < 30; turn += 1) await this.#clock.settle()
  }

  close(): void {
    for (const client of this.#clients) client.close()
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

export const get = (client: Pick<OwnedKubeClient, 'get'>, options?: RequestOptions): Promise<PersistentVolume> =>
  client.get(PERSISTENT_VOLUMES, { name: 'pv' }, options)
export const patch = (client: Pick<OwnedKubeClient, 'patch'>, options?: RequestOptions): Promise<PersistentVolume> =>
  client.patch(PERSISTENT_VOLUMES, { name: 'pv' }, { kind: 'merge', body: {} }, options)
