import { rm } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
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

/** Takes the place of a socket that a killed process has left behind. */
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
  await rm(path, { force: true })
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
