import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  ControllerService,
  type Field,
  GroupControllerService,
  GroupControllerServiceCapability_RPC_Type as GroupRpc,
  IdentityService,
  NodeServiceCapability_RPC_Type as NodeRpc,
  NodeService,
  PluginCapability_Service_Type as PluginService,
  type Shape,
} from '@csi-sidecars/csi-proto'
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { start, stop } from '../process/processes.ts'
import { pause } from '../waiting.ts'

/** One call that the driver received. Times are wall times in milliseconds. */
export interface Call {
  readonly method: string
  readonly request: Plain
  readonly start: number
  /** The time from the start to the deadline. Infinity if the call has no deadline. */
  readonly timeoutMs: number
  readonly metadata: Readonly<Record<string, unknown>>
  end: number | undefined
  /** The returned gRPC code; undefined while the call hangs. */
  code: number | undefined
  cancelled: boolean
  /** The time when the caller gave up or the connection ended. Undefined if the driver answered first. */
  abandonedAt: number | undefined
}

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
  | 'hang'

export type Script = DriverReply | ((call: Call, nth: number) => DriverReply)

export interface Capabilities {
  /** True if GetPluginCapabilities reports CONTROLLER_SERVICE. */
  controllerService: boolean
  /** True if GetPluginCapabilities reports VOLUME_ACCESSIBILITY_CONSTRAINTS. */
  topology: boolean
  controller: (keyof typeof ControllerRpc | number)[]
  node: (keyof typeof NodeRpc | number)[]
}

export interface DriverOptions extends Partial<Capabilities> {
  readonly socket: string
  readonly name: string
}

/** A protobuf message as JSON. Omits unset fields, and has enum values by name and 64-bit numbers as text. */
export type Plain = Readonly<Record<string, unknown>>

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

const SERVICES = [IdentityService, ControllerService, NodeService, GroupControllerService]

/** Returns the name of a gRPC error as gRPC for Go writes it: `ResourceExhausted` for 8. */
export function codeName(code: number): string {
  if (code === status.CANCELLED) return 'Canceled'
  return (status[code] ?? '').toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** A CSI driver for tests. It answers calls as a test scripts them, and records all calls. */
export class FakeDriver {
  readonly socket: string
  name: string
  readonly calls: Call[] = []
  /** The scripted answers, by the name of the RPC. */
  readonly scripts: Record<string, Script> = {}
  readonly capabilities: Capabilities
  #server: Server | undefined
  readonly #counts: Record<string, number> = {}

  constructor(options: DriverOptions) {
    const { socket, name, controllerService = true, topology = false, controller = [], node = [] } = options
    this.socket = socket
    this.name = name
    this.capabilities = { controllerService, topology, controller: [...controller], node: [...node] }
  }

  /** Starts to listen on the socket. May be called again after `kill`. */
  async start(): Promise<void> {
    const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 })
    for (const service of SERVICES) {
      const handlers: UntypedServiceImplementation = {}
      for (const [name, { path, requestShape }] of Object.entries(service)) {
        handlers[name] = this.#handlerOf(path, requestShape())
      }
      server.addService(service, handlers)
    }
    rmSync(this.socket, { force: true })
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix:${this.socket}`, ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      )
    })
    this.#server = server
  }

  /** Acts like a killed process: breaks all connections, stops listening and removes the socket file. */
  kill(): void {
    this.#server?.forceShutdown()
    this.#server = undefined
    rmSync(this.socket, { force: true })
  }

  /** Sets the answer to all later calls of this RPC. */
  on(method: string, script: Script): void {
    this.scripts[method] = script
    this.#counts[method] = 0
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

  #handlerOf(path: string, shape: Shape) {
    const method = path.slice(path.lastIndexOf('/') + 1)
    return (call: ServerUnaryCall<unknown, object>, reply: sendUnaryData<object>): void => {
      const start = Date.now()
      const entry: Call = {
        method,
        request: plain(call.request, shape),
        start,
        timeoutMs: Number(call.getDeadline()) - start,
        metadata: call.metadata.getMap(),
        end: undefined,
        code: undefined,
        cancelled: false,
        abandonedAt: undefined,
      }
      this.calls.push(entry)
      call.on('cancelled', () => {
        entry.cancelled = true
        if (entry.end !== undefined) return
        entry.abandonedAt = entry.end = Date.now()
      })
      this.#answer(entry, reply).catch((error: unknown) => reply({ code: 13, details: String(error) }))
    }
  }

  async #answer(entry: Call, reply: sendUnaryData<object>): Promise<void> {
    const script = this.scripts[entry.method] ?? this.#usual(entry.method)
    const nth = this.#counts[entry.method] ?? 0
    this.#counts[entry.method] = nth + 1
    const answer = typeof script === 'function' ? script(entry, nth) : script
    if (answer === 'hang') return
    if (typeof answer.after === 'number') await pause(answer.after)
    else await answer.after
    entry.end = Date.now()
    if ('reply' in answer) {
      entry.code = 0
      const said = typeof answer.reply === 'function' ? answer.reply() : answer.reply
      reply(null, { ...usualReply(entry), ...said })
      return
    }
    entry.code = answer.code
    reply({ code: answer.code, details: answer.message, metadata: detailsOf(answer) })
  }

  /** Returns the answer of a healthy driver to an RPC without a script. */
  #usual(method: string): DriverReply {
    const { controllerService, topology, controller, node } = this.capabilities
    switch (method) {
      case 'GetPluginInfo':
        return { reply: { name: this.name, vendorVersion: '1', manifest: {} } }
      case 'Probe':
        return { reply: { ready: true } }
      case 'GroupControllerGetCapabilities':
        return { reply: { capabilities: [rpc(GroupRpc.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT)] } }
      case 'DeleteSnapshot':
      case 'DeleteVolumeGroupSnapshot':
        return { reply: {} }
      case 'GetPluginCapabilities':
        return {
          reply: {
            capabilities: [
              ...(controllerService ? [service(PluginService.CONTROLLER_SERVICE)] : []),
              ...(topology ? [service(PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS)] : []),
            ],
          },
        }
      case 'ControllerGetCapabilities':
        return { reply: { capabilities: controller.map((name) => rpc(numberOf(ControllerRpc, name))) } }
      case 'NodeGetCapabilities':
        return { reply: { capabilities: node.map((name) => rpc(numberOf(NodeRpc, name))) } }
      case 'ControllerPublishVolume':
      case 'ControllerUnpublishVolume':
      case 'ControllerExpandVolume':
      case 'ControllerModifyVolume':
      case 'ListVolumes':
      case 'CreateVolume':
      case 'DeleteVolume':
        return { reply: {} }
      default:
        return { code: 12, message: `${method} has no answer` }
    }
  }
}

function rpc(type: number): object {
  return { type: { $case: 'rpc', value: { type } } }
}

function service(type: number): object {
  return { type: { $case: 'service', value: { type } } }
}

function numberOf(table: Readonly<Record<string, number | string>>, name: string | number): number {
  return typeof name === 'number' ? name : Number(table[name])
}

/** Encodes a `google.rpc.Status` with one RetryInfo as protobuf, by hand. */
function detailsOf({
  code,
  message,
  retryInfo,
}: {
  code: number
  message: string
  retryInfo?: { seconds: number }
}): Metadata {
  const metadata = new Metadata()
  if (retryInfo === undefined) return metadata
  const field = (number: number, content: Buffer): Buffer =>
    Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content])
  const duration = Buffer.from([0x08, retryInfo.seconds])
  const any = Buffer.concat([
    field(1, Buffer.from('type.googleapis.com/google.rpc.RetryInfo')),
    field(2, field(1, duration)),
  ])
  const status = Buffer.concat([Buffer.from([0x08, code]), field(2, Buffer.from(message)), field(3, any)])
  metadata.set('grpc-status-details-bin', status)
  return metadata
}

export function plain(message: unknown, shape: Shape): Plain {
  const out: Record<string, unknown> = {}
  for (const field of shape) {
    const value = plainField(field, propertyOf(message, field))
    if (value !== undefined) out[field.name] = value
  }
  return out
}

function propertyOf(message: unknown, { property, oneof }: Field): unknown {
  const held = oneof === undefined ? message : valueAt(message, oneof)
  if (oneof === undefined) return valueAt(held, property)
  return valueAt(held, '$case') === property ? valueAt(held, 'value') : undefined
}

function valueAt(object: unknown, key: string): unknown {
  return typeof object === 'object' && object !== null
    ? Object.entries(object).find(([name]) => name === key)?.[1]
    : undefined
}

function plainField(field: Field, value: unknown): unknown {
  if (value === undefined || value === null) return undefined
  if (field.many === 'map') return Object.keys(value).length === 0 ? undefined : { ...(value as object) }
  if (field.many === 'list') {
    return Array.isArray(value) && value.length > 0 ? value.map((item) => plainValue(field, item)) : undefined
  }
  const one = plainValue(field, value)
  const unset = field.type.kind === 'scalar' && (one === '' || one === 0 || one === false || one === '0')
  return unset ? undefined : one
}

function plainValue({ type }: Field, value: unknown): unknown {
  switch (type.kind) {
    case 'message':
      return plain(value, type.shape())
    case 'enum':
      return Object.entries(type.values).find(([, number]) => number === value)?.[0] ?? value
    case 'scalar':
    case 'wrapper':
    case 'timestamp':
      return typeof value === 'bigint' ? String(value) : value
  }
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
