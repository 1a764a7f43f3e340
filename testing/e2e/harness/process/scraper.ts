import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import { connect } from 'node:tls'
import type { Issued } from '@csi-sidecars/testkit'

export interface ScraperOptions {
  readonly port: number | undefined
  /** The authority that it trusts; absent: any certificate. */
  readonly ca?: string
  /** Its own certificate. */
  readonly client?: Issued
  readonly token?: string
  /** Reuses its connection, like Prometheus. */
  readonly kept?: boolean
}

export interface Scrape {
  readonly code: number
  readonly text: string
  readonly headers: IncomingHttpHeaders
  readonly tookMs: number
}

/** Requests the HTTP endpoint over TLS. */
export class Scraper {
  readonly #options: RequestOptions

  constructor({ port, ca, client, token, kept = false }: ScraperOptions) {
    const trust = ca === undefined ? { rejectUnauthorized: false } : { ca }
    const connection = { ...trust, ...client }
    this.#options = {
      host: '127.0.0.1',
      port,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      ...connection,
      agent: kept ? new Agent({ ...connection, keepAlive: true, maxSockets: 1 }) : false,
    }
  }

  async get(path: string): Promise<Scrape> {
    const begin = performance.now()
    const asking = request({ ...this.#options, path }).end()
    const [response] = await once(asking, 'response')
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk)
    const { statusCode: code, headers } = response
    return { code, headers, text: Buffer.concat(chunks).toString(), tookMs: performance.now() - begin }
  }

  async code(path: string): Promise<number> {
    return (await this.get(path)).code
  }
}

/** The common name of the certificate at a port. */
export async function shownAt(port: number | undefined): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: port ?? 0, rejectUnauthorized: false })
  try {
    await once(socket, 'secureConnect')
    return String(socket.getPeerCertificate().subject.CN)
  } finally {
    socket.destroy()
  }
}
