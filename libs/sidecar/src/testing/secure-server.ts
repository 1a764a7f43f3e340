import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type RequestOptions, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { systemClock } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { Metrics } from '@csi-sidecars/telemetry'
import { type RecordingLogger, recordingLogger } from '@csi-sidecars/telemetry/testing'
import type { Issued } from '@csi-sidecars/testkit'
import type { HttpServer } from '../http/listener.ts'
import { createGuard } from '../http/secure/guard.ts'
import type { Reviews } from '../http/secure/reviews.ts'
import { ciphersOf, type TlsSettings } from '../http/secure/settings.ts'
import { openTls, type Tls } from '../http/secure/tls.ts'
import { startHttpServer } from '../http/server.ts'

/**
 * The certificates and the settings of the HTTP endpoint. It authenticates clients if `clientCa` or `reviews` is set.
 */
export interface SecureOptions {
  readonly pair?: Issued
  readonly clientCa?: string
  readonly settings?: Partial<TlsSettings>
  readonly reviews?: Reviews
}

/** One complete HTTP answer, and the TLS connection on which it arrived. */
export interface Answer {
  readonly status: number
  readonly body: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly socket: TLSSocket
}

/** The HTTP endpoint with TLS. A test rewrites its certificate files and advances its clock. */
export class SecureServer implements AsyncDisposable {
  readonly clock = new FakeClock({ now: systemClock.now() })
  readonly log: RecordingLogger = recordingLogger()
  readonly metrics = new Metrics()
  readonly #folder = mkdtempSync(join(tmpdir(), 'secure-'))
  #tls: Tls | undefined
  #server: HttpServer | undefined

  static async start(options: SecureOptions): Promise<SecureServer> {
    const made = new SecureServer()
    await made.#start(options)
    return made
  }

  async #start({ pair, clientCa, settings, reviews }: SecureOptions): Promise<void> {
    if (pair !== undefined) this.writePair(pair)
    if (clientCa !== undefined) this.writeCa(clientCa)
    const { clock, log, metrics } = this
    const files = { certFile: this.#file('tls.crt'), keyFile: this.#file('tls.key') }
    this.#tls = await openTls(
      {
        pair: pair && files,
        clientCaFile: clientCa && this.#file('ca.crt'),
        minVersion: 'TLSv1.2',
        ciphers: ciphersOf(''),
        ...settings,
      },
      { clock, log, hostName: 'host-1' },
    )
    const { create } = this.#tls
    const isAuthenticated = clientCa !== undefined || reviews !== undefined
    this.#server = await startHttpServer({
      address: '127.0.0.1:0',
      metricsPath: '/metrics',
      metrics,
      health: { live: () => [] },
      log,
      secure: create,
      guard: isAuthenticated ? createGuard({ alwaysAllow: ['/livez', '/open/*'], reviews, log }) : undefined,
    })
  }

  get port(): number {
    return this.#server?.port ?? 0
  }

  writePair({ cert, key }: Issued): void {
    writeFileSync(this.#file('tls.crt'), cert)
    writeFileSync(this.#file('tls.key'), key)
  }

  writeCa(text: string): void {
    writeFileSync(this.#file('ca.crt'), text)
  }

  /** Advances the clock to the next check of the certificate files, and waits until that check has ended. */
  async readFiles(): Promise<void> {
    await this.clock.advance(5_000)
    // A pending timer shows that the check has ended, because each check schedules the next one at its end.
    while (this.clock.pending === 0) await this.get('/livez')
  }

  async get(path: string, options: RequestOptions = {}): Promise<Answer> {
    const asking = request({
      ...{ host: '127.0.0.1', port: this.port, path, rejectUnauthorized: false, agent: false },
      ...options,
    })
    asking.end()
    const [response] = await once(asking, 'response')
    const { socket, statusCode: status, headers } = response
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    return { status, headers, body, socket }
  }

  async status(path: string, options: RequestOptions = {}): Promise<number> {
    return (await this.get(path, options)).status
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#tls?.stop()
    await this.#server?.close()
    rmSync(this.#folder, { recursive: true })
  }

  #file(name: string): string {
    return join(this.#folder, name)
  }
}
