import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { get } from 'node:http'
import type { Fill, Message } from './emulator-process.ts'

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end'

/** The emulated API server in a process of its own. */
export class Emulator implements AsyncDisposable {
  #url = new URL('http://nowhere')
  /** The administrator's, as YAML. */
  kubeconfig = ''
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>

  private constructor(child: ChildProcess) {
    this.#child = child
    this.#exited = once(child, 'exit')
  }

  static async start(args: readonly string[]): Promise<Emulator> {
    const emulator = new Emulator(fork(new URL('./emulator-process.ts', import.meta.url), args))
    const message = await emulator.#next()
    if (!('url' in message)) throw new Error('the emulator did not say where it listens')
    emulator.#url = new URL(message.url)
    emulator.kubeconfig = message.kubeconfig
    return emulator
  }

  get url(): URL {
    return this.#url
  }

  get pid(): number {
    return this.#child.pid ?? -1
  }

  async fill(what: Fill): Promise<void> {
    const filled = this.#next()
    this.#child.send(what)
    await filled
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
    if (this.#child.connected) this.#child.disconnect()
    await this.#exited
  }

  /** Its next message. */
  async #next(): Promise<Message> {
    const silent = this.#exited.then((): never => {
      throw new Error(`the emulator ended with ${this.#child.exitCode}`)
    })
    const message = new Promise<Message>((resolve) => this.#child.once('message', (given) => resolve(given as Message)))
    return await Promise.race([message, silent])
  }
}
