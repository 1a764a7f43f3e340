import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { ControllerService, IdentityService, NodeService } from '@csi-sidecars/csi-proto'
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'

/** A CSI call that the scripted driver has received. `cancelled` becomes true if the client cancels the call. */
export interface SeenCall {
  readonly method: string
  readonly request: unknown
  /** The time-out in the request, in milliseconds. Infinity if the request has none. */
  readonly timeoutMs: number
  readonly metadata: Readonly<Record<string, unknown>>
  cancelled: boolean
}

/** The answer of the driver: a reply, a gRPC error, or no answer. */
export type Answer =
  | object
  | { readonly code: number; readonly details: string; readonly metadata?: Metadata }
  | 'silence'

/** A driver for tests: answers as scripted, and records its calls. */
export interface ScriptedDriver {
  readonly socket: string
  readonly calls: SeenCall[]
  /** The answers by the name of the RPC. An RPC without an answer returns Unimplemented. */
  readonly answers: Record<string, Answer | ((call: SeenCall) => Answer | Promise<Answer>)>
  /** Lets running calls finish, and accepts no new calls. */
  stopWithGrace(): void
  /** Ends the connections as a killed process does, and stops listening. */
  stop(): void
}

const folder = mkdtempSync(join(tmpdir(), 'csi-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
let sockets = 0

/** Returns a new socket path, on which no server listens. */
export function socketPath(): string {
  sockets += 1
  return join(folder, `${sockets}.sock`)
}

export async function scriptedDriver(
  options: { socket?: string; answers?: ScriptedDriver['answers'] } = {},
): Promise<ScriptedDriver> {
  const { socket = socketPath(), answers = {} } = options
  const calls: SeenCall[] = []
  const server = new Server({ 'grpc.max_receive_message_length': -1 })
  for (const service of [IdentityService, ControllerService, NodeService]) {
    const handlers: UntypedServiceImplementation = {}
    for (const [name, { path }] of Object.entries(service)) handlers[name] = handlerOf(path, calls, answers)
    server.addService(service, handlers)
  }
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    )
  })
  return {
    socket,
    calls,
    answers,
    stopWithGrace: () => server.tryShutdown(() => undefined),
    stop: () => server.forceShutdown(),
  }
}

function handlerOf(path: string, calls: SeenCall[], answers: ScriptedDriver['answers']) {
  const method = path.slice(path.lastIndexOf('/') + 1)
  return (call: ServerUnaryCall<unknown, object>, reply: sendUnaryData<object>): void => {
    const timeoutMs = Number(call.getDeadline()) - systemClock.now()
    const metadata = call.metadata.getMap()
    const seen: SeenCall = { method, request: call.request, timeoutMs, metadata, cancelled: false }
    calls.push(seen)
    call.on('cancelled', () => {
      seen.cancelled = true
    })
    const scripted = answers[method] ?? { code: 12, details: `${method} is not scripted` }
    Promise.resolve(typeof scripted === 'function' ? scripted(seen) : scripted).then(
      (answer) => say(answer, reply),
      reply,
    )
  }
}

function say(answer: Answer, reply: sendUnaryData<object>): void {
  if (answer === 'silence') return
  if ('code' in answer && 'details' in answer) reply({ metadata: new Metadata(), ...answer })
  else reply(null, answer)
}
