import { get } from 'node:http'
import { Child } from './child.ts'
import type { Fill, Listening, Message } from './emulator-process.ts'

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end'

/** The emulated API server in a process of its own. */
export class Emulator implements AsyncDisposable {
  readonly url: URL
  /** The administrator's, as YAML. */
  readonly kubeconfig: string
  readonly #child: Child<Message>

  private constructor(child: Child<Message>, { url, kubeconfig }: Listening) {
    this.#child = child
    this.url = new URL(url)
    this.kubeconfig = kubeconfig
  }

  static async start(args: readonly string[]): Promise<Emulator> {
    const child = new Child<Message>(new URL('./emulator-process.ts', import.meta.url), args)
    const message = await child.next()
    if (!('url' in message)) throw new Error('the emulator did not say where it listens')
    return new Emulator(child, message)
  }

  get pid(): number {
    return this.#child.pid
  }

  async fill(what: Fill): Promise<void> {
    await this.#child.next(what)
  }

  get(path: string): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    get(new URL(path, this.url), { agent: false }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        if (answer.statusCode === 200) resolve(text)
        else reject(new Error(`GET ${path}: ${answer.statusCode} ${text.slice(0, 300)}`))
      })
    }).on('error', reject)
    return promise
  }

  /** Watches with initial events until the server marks their end. */
  watchInitial(path: string): Promise<void> {
    const query = 'watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan'
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const request = get(new URL(`${path}?${query}`, this.url), { agent: false }, (answer) => {
      let tail = ''
      answer.setEncoding('latin1').on('data', (text: string) => {
        const seen = tail + text
        tail = text.slice(-INITIAL_EVENTS_END.length)
        if (seen.includes(INITIAL_EVENTS_END)) resolve()
      })
      answer.on('close', () => reject(new Error(`the watch of ${path} ended: ${answer.statusCode} ${tail}`)))
    }).on('error', reject)
    return promise.finally(() => request.destroy())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child[Symbol.asyncDispose]()
  }
}
