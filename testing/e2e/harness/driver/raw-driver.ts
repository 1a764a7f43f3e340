import { rmSync } from 'node:fs'
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import {
  ControllerService,
  IdentityService,
  type PluginCapability,
  PluginCapability_Service_Type,
} from '@csi-sidecars/csi-proto'

/** Answers a call. `request` is the decoded message, or undefined for an unknown RPC. */
export type RawAnswer = (stream: ServerHttp2Stream, request: unknown) => void

export const GRPC_HEADERS = { ':status': 200, 'content-type': 'application/grpc' }

const METHODS = [...Object.values(IdentityService), ...Object.values(ControllerService)]
/** The numbers of the capabilities PUBLISH_UNPUBLISH_VOLUME and EXPAND_VOLUME. */
const CONTROLLER = [2, 9]

/** A CSI driver on plain HTTP/2, which can send invalid gRPC answers. By default it supports attach and expansion. */
export class RawDriver {
  readonly socket: string
  readonly name: string
  /** The received calls in the order of arrival, with the name of the RPC. */
  readonly calls: { readonly method: string; readonly request: unknown }[] = []
  readonly answers: Record<string, RawAnswer> = {}
  readonly #sessions = new Set<ServerHttp2Session>()
  #server: Http2Server | undefined

  constructor(socket: string, name: string) {
    this.socket = socket
    this.name = name
  }

  async start(): Promise<void> {
    rmSync(this.socket, { force: true })
    // These options let the server send invalid or very long headers.
    const server = createServer({ maxSendHeaderBlockLength: 64 * 1024 * 1024, strictFieldWhitespaceValidation: false })
    server.on('session', (session) => {
      this.#sessions.add(session)
      session.on('error', () => undefined)
      session.once('close', () => this.#sessions.delete(session))
    })
    server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) =>
      this.#onStream(stream, String(headers[':path'])),
    )
    await new Promise<void>((resolve) => server.listen(this.socket, () => resolve()))
    // The server must not keep the runner alive if a test fails before `kill`.
    this.#server = server.unref()
  }

  /** Acts like a killed process: breaks all connections and removes the socket file. */
  kill(): void {
    for (const session of this.#sessions) session.destroy()
    this.#server?.close()
    this.#server = undefined
    rmSync(this.socket, { force: true })
  }

  callsOf(method: string): readonly unknown[] {
    return this.calls.filter((call) => call.method === method).map(({ request }) => request)
  }

  #onStream(stream: ServerHttp2Stream, path: string): void {
    const method = path.slice(path.lastIndexOf('/') + 1)
    const chunks: Buffer[] = []
    stream.on('error', () => undefined) // the client has gone, or the test broke the stream
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      const definition = METHODS.find((each) => each.path === path)
      const request: unknown = definition?.requestDeserialize(Buffer.concat(chunks).subarray(5))
      this.calls.push({ method, request })
      const answer = this.answers[method]
      if (answer !== undefined) answer(stream, request)
      else reply(stream, this.#usual(method))
    })
  }

  #usual(method: string): Buffer {
    switch (method) {
      case 'Probe':
        return IdentityService.probe.responseSerialize({ ready: true })
      case 'GetPluginInfo':
        return IdentityService.getPluginInfo.responseSerialize({ name: this.name, vendorVersion: '1', manifest: {} })
      case 'GetPluginCapabilities':
        return IdentityService.getPluginCapabilities.responseSerialize({ capabilities: [CONTROLLER_SERVICE] })
      case 'ControllerGetCapabilities':
        return Buffer.concat(CONTROLLER.map((type) => Buffer.from([0x0a, 4, 0x0a, 2, 0x08, type])))
      default:
        return Buffer.alloc(0)
    }
  }
}

const CONTROLLER_SERVICE: PluginCapability = {
  type: { $case: 'service', value: { type: PluginCapability_Service_Type.CONTROLLER_SERVICE } },
}

/** Returns a message in a gRPC frame. */
export function framed(message: Buffer, compressed = 0): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt8(compressed)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/** Answers a call successfully with these bytes as the message. */
export function reply(stream: ServerHttp2Stream, message: Buffer): void {
  stream.respond(GRPC_HEADERS, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
  stream.end(framed(message))
}

/** Answers a call with a gRPC error, with optional extra headers. */
export function refuse(
  stream: ServerHttp2Stream,
  { code, message, ...others }: { code: number; message: string; [header: string]: string | number },
): void {
  const headers = { ...GRPC_HEADERS, 'grpc-status': String(code), 'grpc-message': message, ...others }
  stream.respond(headers, { endStream: true })
}
