import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { get } from 'node:http'
import type { Fill, Told } from './emulator-process.ts'

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
    const told = await emulator.#told()
    if (!('url' in told)) throw new Error('the emulator did not say where it listens')
    emulator.#url = new URL(told.url)
    emulator.kubeconfig = told.kubeconfig
    return emulator
  }

  get url(): URL {
    return this.#url
  }

  get pid(): number {
    return this.#child.pid ?? -1
  }

  async fill(what: Fill): Promise<void> {
    const filled = this.#told()
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

  /** Watches from nothing until the server says that all there was has been sent. */
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

  /** The next that it says. */
  async #told(): Promise<Told> {
    const silent = this.#exited.then((): never => {
      throw new Error(`the emulator ended with ${this.#child.exitCode}`)
    })
    const told = new Promise<Told>((resolve) => this.#child.once('message', (message) => resolve(message as Told)))
    return await Promise.race([told, silent])
  }
}
