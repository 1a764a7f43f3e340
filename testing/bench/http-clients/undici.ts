import { type Dispatcher, Pool } from 'undici'
import { type BenchClient, type BenchServer, CONNECTIONS, HEADERS, TIMEOUT_MS } from './client.ts'
import { run } from './run.ts'

/** Opens undici's Pool with its smallest interface, `dispatch`. */
function openClient({ host, port, ca }: BenchServer): BenchClient {
  const pool = new Pool(`https://${host}:${port}`, {
    connections: CONNECTIONS,
    pipelining: 1,
    connect: { ca },
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
  })
  return {
    send: ({ path, body, signal }) =>
      new Promise((resolve, reject) => {
        pool.dispatch({ method: 'PATCH', path, headers: HEADERS, body }, new Collector(signal, { resolve, reject }))
      }),
    close: () => pool.close(),
  }
}

class Collector implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal
  readonly #settle: { resolve(length: number): void; reject(error: unknown): void }
  #abort: (() => void) | undefined
  #chunks: Buffer[] = []
  #status = 0

  constructor(signal: AbortSignal, settle: { resolve(length: number): void; reject(error: unknown): void }) {
    this.#signal = signal
    this.#settle = settle
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#abort = () => controller.abort(this.#signal.reason)
    this.#signal.addEventListener('abort', this.#abort)
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number): void {
    this.#status = status
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#leave()
    const body = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks)
    if (this.#status === 200) this.#settle.resolve(body?.length ?? 0)
    else this.#settle.reject(new Error(`the server answers ${this.#status}`))
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#leave()
    this.#settle.reject(error)
  }

  #leave(): void {
    if (this.#abort !== undefined) this.#signal.removeEventListener('abort', this.#abort)
  }
}

await run(openClient)
