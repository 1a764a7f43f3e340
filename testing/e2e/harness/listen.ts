import type { AddressInfo, Server } from 'node:net'

/** A server that accepts connections on `port` of the loopback address until it is disposed of. */
export interface Listening extends Disposable {
  readonly port: number
}

/** Lets a server listen on a free port. Disposing of the result closes the server and its connections. */
export async function listen(server: Server & { closeAllConnections?(): void }): Promise<Listening> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.address() as AddressInfo
  return {
    port,
    [Symbol.dispose]: () => {
      server.close()
      server.closeAllConnections?.()
    },
  }
}
