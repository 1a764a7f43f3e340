import { once } from 'node:events'
import type { Stats } from 'node:fs'
import { link, lstat, mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Server as NetServer, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { systemCodeOf } from '@csi-sidecars/base'
import { Server, ServerCredentials, type ServiceDefinition, type UntypedServiceImplementation } from '@grpc/grpc-js'

/** The longest path of a socket on Linux, without the zero byte at the end. */
const MAX_PATH_LENGTH = 107

/** A gRPC service and its handlers. */
export interface GrpcService {
  readonly definition: ServiceDefinition
  readonly handlers: UntypedServiceImplementation
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
export async function listen(path: string, services: readonly GrpcService[]): Promise<SocketListener> {
  const grpc = new Server()
  for (const { definition, handlers } of services) grpc.addService(definition, handlers)
  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure())
  const connections = new Set<Socket>()
  const server = createServer((connection) => {
    connections.add(connection)
    connection.on('close', () => connections.delete(connection))
    injector.injectConnection(connection)
  })
  await removeLeftover(path)
  const boundSocket = await bind(server, path)
  return {
    async kill() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const connection of connections) connection.destroy()
      injector.destroy()
      grpc.forceShutdown()
      await closed
      if (isSame(await found(path), boundSocket)) await rm(path, { force: true })
    },
  }
}

/**
 * Listens at a temporary path, and then links the socket to `path` if `path` is free. Otherwise a stopped server could
 * delete `path` while another process listens there.
 */
async function bind(server: NetServer, path: string): Promise<Stats> {
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
