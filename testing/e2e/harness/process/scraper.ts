import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect } from 'node:tls'
import type { Issued } from '@csi-sidecars/testkit'
import type { RunningSidecar } from '../context.ts'
import { eventually } from '../waiting.ts'

/** The port of the scraped sidecar, and the credentials of the scraper. Default: no credentials. */
export interface ScraperOptions {
  readonly port: number | undefined
  /** The certificate authority that the scraper trusts. If absent, the scraper accepts any certificate. */
  readonly ca?: string
  /** The client certificate of the scraper. */
  readonly client?: Issued
  readonly token?: string
  /** True to reuse one connection, as Prometheus does. */
  readonly kept?: boolean
}

/** One complete answer of the sidecar's HTTPS endpoint. */
export interface Scrape {
  readonly code: number
  readonly text: string
  readonly headers: IncomingHttpHeaders
}

/** An HTTPS client for the HTTP endpoint of a sidecar. */
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
    const asking = request({ ...this.#options, path }).end()
    const [response] = await once(asking, 'response')
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk)
    const { statusCode: code, headers } = response
    return { code, headers, text: Buffer.concat(chunks).toString() }
  }

  async code(path: string): Promise<number> {
    return (await this.get(path)).code
  }
}

/** Returns the common name of the certificate that the server at a port presents. */
export async function shownAt(port: number | undefined): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: port ?? 0, rejectUnauthorized: false })
  try {
    await once(socket, 'secureConnect')
    return String(socket.getPeerCertificate().subject.CN)
  } finally {
    socket.destroy()
  }
}

/** Opens connections that send these bytes and read nothing. */
export function connections({ port = 0 }: RunningSidecar, count: number, bytes: string): readonly Socket[] {
  return Array.from({ length: count }, () => {
    const socket = connectTcp(port, '127.0.0.1')
    socket.on('error', () => undefined) // the sidecar may close the connection
    socket.pause()
    socket.write(bytes)
    return socket
  })
}

/** The limit of the memory growth that misbehaving HTTP clients may cause in a sidecar. */
export const MAX_GROWTH_MIB = 90
/** The time within which a sidecar must answer after misbehaving clients have gone. */
const RECOVERED_WITHIN_MS = 2000

/** Checks that the sidecar answers soon after misbehaving clients have gone. */
export async function recovered(sidecar: RunningSidecar, path: string): Promise<void> {
  const answered = async (): Promise<boolean> => (await sidecar.http(path)).code === 200
  await eventually(`an answer from ${path}`, answered, { within: RECOVERED_WITHIN_MS })
}
