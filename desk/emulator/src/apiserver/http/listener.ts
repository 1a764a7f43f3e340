import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { SelfSigned } from '@csi-sidecars/base/self-signed'
import { isFromOtherSite, isOwnHost } from '../../web-sites.ts'
import { ApiFailure } from './api-failure.ts'
import { refuse } from './reply.ts'

/** An HTTP server that listens on a loopback port. */
export interface PortListener {
  readonly url: string
  readonly port: number
  /** Sets the request handler. Requests from web sites never reach it. Call `serve` right after `openListener`. */
  serve(answer: RequestListener): unknown
  /** Stops listening and ends all connections. */
  close(): Promise<void>
}

/** The time-outs of connections. The server keeps idle connections open for longer than clients do. */
const OPTIONS = {
  requestTimeout: 60_000,
  headersTimeout: 30_000,
  keepAliveTimeout: 120_000,
  connectionsCheckingInterval: 5_000,
}

/** The address and the certificate of a server. Port 0: any free port. */
export interface ListenerOptions {
  readonly port: number
  readonly secure: SelfSigned | undefined
  readonly hostNames: readonly string[]
}

export async function openListener(options: ListenerOptions): Promise<PortListener> {
  const { secure, hostNames } = options
  const scheme = secure === undefined ? 'http' : 'https'
  const server = secure === undefined ? createServer(OPTIONS) : createSecureServer({ ...OPTIONS, ...secure })
  await once(server.listen(options.port, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `${scheme}://127.0.0.1:${port}`,
    serve: (answer) =>
      server.on('request', (request, response) => {
        const refusal = refusalOf(request, { scheme, hostNames })
        if (refusal === undefined) answer(request, response)
        else refuse(response, refusal)
      }),
    close: () => close(server),
  }
}

/** Returns a 403 error if a web site sent the request. Otherwise any page in a local browser could use the server. */
function refusalOf(
  { headers }: IncomingMessage,
  { scheme, hostNames }: { scheme: 'http' | 'https'; hostNames: readonly string[] },
): ApiFailure | undefined {
  const refused = (reason: string): ApiFailure => new ApiFailure('Forbidden', `forbidden: ${reason}`)
  if (!isOwnHost(headers, hostNames))
    return refused(`the host ${JSON.stringify(headers.host ?? '')} is not this server`)
  if (isFromOtherSite(headers, scheme)) return refused('the request comes from another web site')
  return undefined
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
