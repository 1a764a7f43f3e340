import { once } from 'node:events'
import type { Stats } from 'node:fs'
import { link, lstat, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { type Clock, systemClock, systemCodeOf } from '@csi-sidecars/base'
import type { UnaryMethod } from '@csi-sidecars/csi-proto'
import { DriverFailure } from './driver-failure.ts'
import { refuse, ServerCall, type WireMethod } from './server-call.ts'

/** The longest path of a socket on Linux, without the zero byte at the end. */
const MAX_PATH_LENGTH = 107

/** The longest headers of an answer. Some tests send error messages of many kilobytes. */
const MAX_HEADER_BYTES = 64 * 1024 * 1024

/** A gRPC method, and the function that answers its calls. */
export interface ServedMethod {
  readonly method: WireMethod
  readonly handle: (call: ServerCall) => void
}

/** Serves a method by a function that returns the response, or throws a DriverFailure. */
export function served<Q, R extends object>(method: UnaryMethod<Q, R>, answer: (request: Q) => R): ServedMethod {
  return { method, handle: (call) => call.reply(answer(call.request as Q)) }
}

/** A server on a unix socket. For its clients, `kill` looks like the death of the server process. */
export interface SocketListener {
  /** Breaks all connections and stops listening. */
  kill(): Promise<void>
}

/** Runs all starts and stops in the order of the calls, so that two servers never listen at once. */
export function restartable(listen: () => Promise<SocketListener>): { start(): Promise<void>; stop(): Promise<void> } {
  let last: Promise<SocketListener | undefined> = Promise.resolve(undefined)
  const then = async (
    step: (listener: SocketListener | undefined) => Promise<SocketListener | undefined>,
  ): Promise<void> => {
    const done = last.then(step)
    // Only the caller gets the error of a failed start or stop. The next call assumes that no server listens.
    last = done.catch(() => undefined)
    await done
  }
  return {
    start: () => then(async (listener) => listener ?? listen()),
    stop: () => then(async (listener) => void (await listener?.kill())),
  }
}

/** Listens at a path. It replaces the socket of a dead process there, but no other file. */
export async function listen(
  path: string,
  methods: readonly ServedMethod[],
  clock: Clock = systemClock,
): Promise<SocketListener> {
  const server = grpcServer(new Map(methods.map((each) => [each.method.path, each])), clock)
  const connections = new Set<Socket>()
  server.on('connection', (connection: Socket) => {
    connections.add(connection)
    connection.on('close', () => connections.delete(connection))
  })
  await removeLeftover(path)
  const boundSocket = await bind(server, path)
  return {
    async kill() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const connection of connections) connection.destroy()
      await closed
      if (isSame(await found(path), boundSocket)) await rm(path, { force: true })
    },
  }
}

/** Creates a gRPC server for methods with one request and one response. A test can answer with any HTTP/2 frames. */
function grpcServer(methods: ReadonlyMap<string, ServedMethod>, clock: Clock): Http2Server {
  const server = createServer({
    maxSessionMemory: Number.MAX_SAFE_INTEGER,
    maxSendHeaderBlockLength: MAX_HEADER_BYTES,
    strictFieldWhitespaceValidation: false,
  })
  server.on('session', (session) => session.on('error', () => undefined)) // the connection was broken
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const chunks: Buffer[] = []
    stream.on('error', () => undefined) // the client has gone, or a test broke the stream
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      const path = String(headers[':path'])
      const method = methods.get(path)
      try {
        if (method === undefined) throw new DriverFailure('UNIMPLEMENTED', `${path} is not implemented`)
        method.handle(new ServerCall({ stream, headers, body: Buffer.concat(chunks) }, method.method, clock))
      } catch (error) {
        refuse(stream, error instanceof DriverFailure ? error : new DriverFailure('INTERNAL', String(error)))
      }
    })
  })
  return server
}

/**
 * Listens at a temporary path, and then links the socket to `path` if `path` is free. Otherwise a stopped server could
 * delete `path` while another process listens there.
 */
async function bind(server: Http2Server, path: string): Promise<Stats> {
  // Node would accept a longer `path`, but clients could not connect to it.
  if (Buffer.byteLength(path) > MAX_PATH_LENGTH) {
    throw new Error(`${path}: the path of a socket has ${MAX_PATH_LENGTH} bytes at most`)
  }
  const folder = await mkdtemp(`${dirname(path)}/.`)
  try {
    // The name of the temporary socket has one letter, because the length of socket paths is limited.
    const begun = join(folder, 's')
    await once(server.listen(begun), 'listening')
    await link(begun, path)
    return await lstat(path)
  } catch (error) {
    server.close()
    throw error
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function isSame(one: Stats | undefined, other: Stats): boolean {
  return one?.ino === other.ino && one.dev === other.dev
}

async function found(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path)
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

async function removeLeftover(path: string): Promise<void> {
  const there = await found(path)
  if (there === undefined) return
  if (!there.isSocket()) throw new Error(`${path} exists and is no socket`)
  if (await mayBeServed(path)) throw new Error(`${path} is the socket of another process`)
  await rm(path, { force: true })
}

/** Reports whether a process may listen on a socket. False only if the socket refuses the connection. */
function mayBeServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path)
    const end = (served: boolean): void => {
      probe.destroy()
      resolve(served)
    }
    probe.once('connect', () => end(true))
    probe.once('error', (error) => end(systemCodeOf(error) !== 'ECONNREFUSED'))
  })
}
