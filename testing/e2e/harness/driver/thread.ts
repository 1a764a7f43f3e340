// Serves all CSI drivers of a run in a thread of its own. The runner is busy with the requests of all tests, and a sidecar
// gives its driver one second for each of the first calls. The runner answers all other calls through messages.
import { parentPort } from 'node:worker_threads'
import {
  ControllerService,
  GroupControllerService,
  IdentityService,
  NodeService,
  type Shape,
} from '@csi-sidecars/csi-proto'
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import type { Answer, FromThread, ReadyReplies, ToThread } from './messages.ts'
import { plain } from './plain.ts'

const SERVICES = [IdentityService, ControllerService, NodeService, GroupControllerService]

const runner = parentPort
if (runner === null) throw new Error('thread.ts runs in a worker thread only')
const send = (message: FromThread): void => runner.postMessage(message)

const servers = new Map<number, Server>()
const ready = new Map<number, ReadyReplies>()
const waiting = new Map<number, (answer: Answer) => void>()
let calls = 0

runner.on('message', (message: ToThread) => {
  switch (message.kind) {
    case 'open':
      ready.set(message.driver, message.ready)
      open(message.driver, message.socket)
      break
    case 'ready':
      ready.set(message.driver, message.ready)
      break
    case 'answer':
      waiting.get(message.call)?.(message.answer)
      waiting.delete(message.call)
      break
    case 'kill':
      servers.get(message.driver)?.forceShutdown()
      servers.delete(message.driver)
      break
    default:
      message satisfies never
  }
})

function open(driver: number, socket: string): void {
  const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 })
  for (const service of SERVICES) {
    const handlers: UntypedServiceImplementation = {}
    for (const [name, { path, requestShape }] of Object.entries(service)) {
      handlers[name] = handlerOf(driver, path.slice(path.lastIndexOf('/') + 1), requestShape())
    }
    server.addService(service, handlers)
  }
  servers.set(driver, server)
  server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) =>
    send({ kind: 'opened', driver, error: error?.message }),
  )
}

function handlerOf(driver: number, method: string, shape: Shape) {
  return (incoming: ServerUnaryCall<unknown, object>, reply: sendUnaryData<object>): void => {
    const start = Date.now()
    calls += 1
    const call = calls
    const readyReply = ready.get(driver)?.[method]
    const received = {
      method,
      request: plain(incoming.request, shape),
      start,
      timeoutMs: Number(incoming.getDeadline()) - start,
      metadata: incoming.metadata.getMap(),
    }
    send({ kind: 'call', driver, call, received, isAnswered: readyReply !== undefined })
    incoming.on('cancelled', () => send({ kind: 'cancelled', call, at: Date.now() }))
    const finish = (answer: Answer): void => {
      if ('reply' in answer) reply(null, answer.reply)
      else reply({ code: answer.code, details: answer.message, metadata: detailsOf(answer) })
    }
    if (readyReply === undefined) waiting.set(call, finish)
    else finish({ reply: readyReply })
  }
}

/** Encodes a `google.rpc.Status` with one RetryInfo as protobuf, by hand. */
function detailsOf({ code, message, retryInfo }: Exclude<Answer, { readonly reply: object }>): Metadata {
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
