import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { DriverSettings } from '@csi-sidecars/emulator'
import { status } from '@grpc/grpc-js'
import { start, stop } from '../process/processes.ts'
import { pause } from '../waiting.ts'
import {
  type Answer,
  FIRST_CALLS,
  type FirstAnswers,
  type Plain,
  type ReceivedCall,
  type StoredIds,
} from './messages.ts'
import { type ServedCall, type ServedCallEnd, type ServedDriver, serveDriver } from './serve.ts'

export type { Plain, StoredIds } from './messages.ts'

/** One call that the driver received. Times are wall times in milliseconds. */
export interface Call extends ReceivedCall, ServedCallEnd {}

/** The driver's answer to a call. */
export type DriverReply =
  /** A function as `reply` creates the reply right before the driver sends it. */
  | { readonly reply: object | (() => object); readonly after?: number | Promise<void> }
  | {
      readonly code: number
      readonly message: string
      readonly retryInfo?: { readonly seconds: number }
      readonly after?: number | Promise<void>
    }
  /** The answer of the emulated driver, which keeps volumes and snapshots until `kill`. */
  | { readonly emulated: true; readonly after?: number | Promise<void> }
  | 'hang'

export type Script = DriverReply | ((call: Call, nth: number) => DriverReply)

/**
 * The abilities that a driver reports to its callers. `controller` and `node` are the RPC capabilities of these
 * services.
 */
export interface Capabilities {
  /** True if GetPluginCapabilities reports CONTROLLER_SERVICE. */
  controllerService: boolean
  /** True if GetPluginCapabilities reports VOLUME_ACCESSIBILITY_CONSTRAINTS. */
  topology: boolean
  controller: DriverSettings['controller']
  node: DriverSettings['node']
}

/**
 * The socket, the name and the abilities of a `FakeDriver`. By default it has a controller service without further
 * abilities.
 */
export interface DriverOptions extends Partial<Capabilities> {
  readonly socket: string
  readonly name: string
  /** Gets each call that the runner answers, before the sidecar gets the answer. */
  readonly observer?: ((call: Call, answer: Answer | 'hang') => void) | undefined
}

/** A CSI driver in a child process, so that a test can pause it with signals. */
export interface DriverProcess extends AsyncDisposable {
  signal(signal: NodeJS.Signals): void
}

/** Returns the driver's default reply to a call. A test can override single fields. */
function usualReply({ method, request }: Call): object {
  if (method === 'ControllerPublishVolume') return { publishContext: {} }
  if (method === 'ListVolumes') return { entries: [], nextToken: '' }
  if (method === 'CreateVolume') return { volume: createdVolume(request) }
  if (method !== 'ControllerExpandVolume') return {}
  return { capacityBytes: requiredBytes(request), nodeExpansionRequired: false }
}

/** Returns the volume for a CreateVolume request. Requests with the same name get the same volume. */
export function createdVolume(request: Plain, more: object = {}): object {
  const capacityBytes = requiredBytes(request)
  return { volumeId: `vol-${request['name']}`, capacityBytes, volumeContext: {}, accessibleTopology: [], ...more }
}

/** Returns the required size of a request in bytes; 0 if it has none. */
export function requiredBytes(request: Plain): bigint {
  const range = request['capacity_range'] as { required_bytes?: string } | undefined
  return BigInt(range?.required_bytes ?? 0)
}

/** Returns the name of a gRPC error as gRPC for Go writes it: `ResourceExhausted` for 8. */
export function codeName(code: number): string {
  if (code === status.CANCELLED) return 'Canceled'
  return (status[code] ?? '').toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** The emulated CSI driver with scripts. It answers calls as a test scripts them, and records all calls. */
export class FakeDriver {
  readonly socket: string
  readonly calls: Call[] = []
  /** The scripted answers, by the name of the RPC. */
  readonly scripts: Record<string, Script> = {}
  readonly #capabilities: Capabilities
  readonly #counts: Record<string, number> = {}
  readonly #observer: DriverOptions['observer']
  #name: string
  #served: ServedDriver | undefined

  constructor(options: DriverOptions) {
    const { socket, name, controllerService = true, topology = false, controller = [], node = [] } = options
    this.socket = socket
    this.#name = name
    this.#observer = options.observer
    this.#capabilities = { controllerService, topology, controller, node }
  }

  get name(): string {
    return this.#name
  }

  set name(name: string) {
    this.#name = name
    this.#served?.setFirst(this.#firstAnswers())
  }

  /** Replaces some capabilities. */
  setCapabilities(capabilities: Partial<Capabilities>): void {
    Object.assign(this.#capabilities, capabilities)
    this.#served?.setFirst(this.#firstAnswers())
  }

  /** Starts to listen on the socket. May be called again after `kill`. */
  async start(): Promise<void> {
    rmSync(this.socket, { force: true })
    this.#served = await serveDriver(this.socket, this.#firstAnswers(), (received, isAnswered) =>
      this.#receive(received, isAnswered),
    )
  }

  /** Returns what the emulated driver keeps. */
  async stored(): Promise<StoredIds> {
    if (this.#served === undefined) throw new Error('the driver does not run')
    return await this.#served.stored()
  }

  /** Acts like a killed process: breaks all connections, stops listening and removes the socket file. */
  kill(): void {
    this.#served?.kill()
    this.#served = undefined
    rmSync(this.socket, { force: true })
  }

  /** Acts like a process that is killed and starts again after this time. */
  async restart(afterMs: number): Promise<void> {
    this.kill()
    await pause(afterMs)
    await this.start()
  }

  /** Sets the answer to all later calls of this RPC. */
  on(method: string, script: Script): void {
    this.scripts[method] = script
    this.#counts[method] = 0
    if (FIRST_CALLS.includes(method)) this.#served?.setFirst(this.#firstAnswers())
  }

  /** Returns the calls of these RPCs in the order of arrival. */
  callsOf(...methods: readonly string[]): Call[] {
    return this.calls.filter(({ method }) => methods.includes(method))
  }

  /** Returns the requests of these RPCs in the order of arrival. */
  requestsOf(...methods: readonly string[]): Plain[] {
    return this.callsOf(...methods).map(({ request }) => request)
  }

  /** Returns the values of one field in all requests of an RPC. */
  fieldsOf(method: string, field: string): unknown[] {
    return this.requestsOf(method).map((request) => request[field])
  }

  /** Records a call. Returns the record, and the answer unless the thread answers the call. */
  #receive(received: ReceivedCall, isAnswered: boolean): ServedCall {
    const entry: Call = { ...received, end: undefined, code: undefined, cancelled: false, abandonedAt: undefined }
    this.calls.push(entry)
    return { entry, answer: isAnswered ? undefined : this.#answer(entry) }
  }

  async #answer(entry: Call): Promise<Answer | 'hang'> {
    const answer = await this.#scripted(entry)
    this.#observer?.(entry, answer)
    return answer
  }

  async #scripted(entry: Call): Promise<Answer | 'hang'> {
    const script = this.scripts[entry.method] ?? usual(entry.method)
    const nth = this.#counts[entry.method] ?? 0
    this.#counts[entry.method] = nth + 1
    const answer = typeof script === 'function' ? script(entry, nth) : script
    if (answer === 'hang') return 'hang'
    if (typeof answer.after === 'number') await pause(answer.after)
    else await answer.after
    if ('emulated' in answer) return { emulated: true }
    if (!('reply' in answer)) {
      const { after, ...error } = answer
      return error
    }
    const reply = typeof answer.reply === 'function' ? answer.reply() : answer.reply
    return { reply: { ...usualReply(entry), ...reply } }
  }

  #firstAnswers(): FirstAnswers {
    const { controllerService, topology, controller, node } = this.#capabilities
    const plugin: DriverSettings['plugin'] = [
      ...(controllerService ? (['CONTROLLER_SERVICE'] as const) : []),
      ...(topology ? (['VOLUME_ACCESSIBILITY_CONSTRAINTS'] as const) : []),
      'GROUP_CONTROLLER_SERVICE',
    ]
    return {
      settings: { name: this.name, version: '1', plugin, expansion: undefined, nodeExpansion: false, controller, node },
      scripted: FIRST_CALLS.filter((method) => this.scripts[method] !== undefined),
    }
  }
}

/** The RPCs that a healthy driver answers without a script. */
const ANSWERED = [
  'ControllerPublishVolume',
  'ControllerUnpublishVolume',
  'ControllerExpandVolume',
  'ControllerModifyVolume',
  'ListVolumes',
  'CreateVolume',
  'DeleteVolume',
  'DeleteSnapshot',
  'DeleteVolumeGroupSnapshot',
]

/** Returns the answer of a healthy driver to an RPC without a script. */
function usual(method: string): DriverReply {
  return ANSWERED.includes(method) ? { reply: {} } : { code: status.UNIMPLEMENTED, message: `${method} has no answer` }
}

/** Starts a driver process, and resolves when it listens on its socket. */
export async function driverProcess(socket: string, name: string): Promise<DriverProcess> {
  const child = start(process.execPath, [fileURLToPath(import.meta.url), socket, name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (child.stdout !== null) await once(child.stdout, 'data')
  return { signal: (signal) => void child.kill(signal), [Symbol.asyncDispose]: () => stop(child) }
}

if (import.meta.main) {
  const [socket = '', name = ''] = process.argv.slice(2)
  await new FakeDriver({ socket, name, controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] }).start()
  process.stdout.write('listening\n')
}
