import { lstat, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { systemCodeOf } from '@csi-sidecars/base'
import { Server, ServerCredentials, type ServiceDefinition, type UntypedServiceImplementation } from '@grpc/grpc-js'

export interface Service {
  readonly definition: ServiceDefinition
  readonly handlers: UntypedServiceImplementation
}

/** A gRPC server on a unix socket whose connections can be broken as the death of a process breaks them. */
export interface Listener {
  /** Connections end without a word, nothing listens any more. */
  kill(): Promise<void>
}

/** Takes the place of a socket that a killed process has left behind, and of nothing else. */
export async function listen(path: string, services: readonly Service[]): Promise<Listener> {
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
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  return {
    kill: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const connection of connections) connection.destroy()
        injector.destroy()
        grpc.forceShutdown()
      }),
  }
}

async function removeLeftover(path: string): Promise<void> {
  const found = await lstat(path).catch((error: unknown) => {
    if (systemCodeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (found === undefined) return
  if (!found.isSocket()) throw new Error(`${path} exists and is no socket`)
  if (await isServed(path)) throw new Error(`${path} is the socket of another process`)
  await rm(path, { force: true })
}

function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path)
    const end = (served: boolean): void => {
      probe.destroy()
      resolve(served)
    }
    probe.once('connect', () => end(true))
    probe.once('error', () => end(false))
  })
}
