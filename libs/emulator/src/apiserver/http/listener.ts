import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { SelfSigned } from '@csi-sidecars/base/self-signed'

/** A server that listens on this machine. */
export interface Listener {
  readonly url: string
  readonly port: number
  /** Says who answers; to be called in the turn in which it was opened. */
  serve(answer: RequestListener): unknown
  /** Ends all connections as well. */
  close(): Promise<void>
}

/** Connections that say nothing are closed in time; those that wait for their next request live longer than clients expect. */
const OPTIONS = {
  requestTimeout: 60_000,
  headersTimeout: 30_000,
  keepAliveTimeout: 120_000,
  connectionsCheckingInterval: 5_000,
}

export async function openListener(options: { port: number; secure: SelfSigned | undefined }): Promise<Listener> {
  const { secure } = options
  const server = secure === undefined ? createServer(OPTIONS) : createSecureServer({ ...OPTIONS, ...secure })
  const port = await listen(server, options.port)
  return {
    port,
    url: `${secure === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    serve: (answer) => server.on('request', answer),
    close: () => close(server),
  }
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve((server.address() as AddressInfo).port)
    })
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
