import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { abortable, deadline, systemClock } from '@csi-sidecars/base'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'headless_shell']

/** A headless browser, controlled by the DevTools protocol. */
export interface Browser extends AsyncDisposable {
  open(url: string): Promise<BrowserPage>
}

export interface BrowserPage extends AsyncDisposable {
  /** Returns the value of an expression in the page. The value must be JSON. */
  evaluate<T>(expression: string): Promise<T>
  /** Resolves as soon as the expression in the page is true. It is evaluated at each screen refresh. */
  until(expression: string): Promise<void>
  /** Resolves when all animations of the page have ended. */
  untilStill(): Promise<void>
  screenshot(): Promise<Buffer>
  /** Sets the size of the window and the colour scheme. */
  look(like: Appearance): Promise<void>
  /** Errors in the page's log, and files that it could not load. */
  readonly problems: readonly string[]
}

export interface Appearance {
  readonly width: number
  readonly height: number
  readonly scheme: 'light' | 'dark'
}

/** Returns the command of an installed browser. Undefined if there is none. */
export function findBrowser(): string | undefined {
  return NAMES.find((name) => {
    try {
      execFileSync('which', [name], { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  })
}

const TIMEOUT_MS = 20_000
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--window-size=1200,800']

export async function startBrowser(command: string): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), 'browser-'))
  const flags = [...FLAGS, '--remote-debugging-port=0', `--user-data-dir=${profile}`]
  const child = spawn(command, [...flags, 'about:blank'], { stdio: ['ignore', 'ignore', 'pipe'] })
  const devtools = await Devtools.connect(await debuggerAddress(child))
  return {
    open: (url) => openPage(devtools, url),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => child.once('close', resolve))
      devtools.close()
      child.kill('SIGKILL')
      await closed
      rmSync(profile, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

async function openPage(devtools: Devtools, url: string): Promise<BrowserPage> {
  const { targetId } = await devtools.send<{ targetId: string }>('Target.createTarget', { url: 'about:blank' })
  const { sessionId } = await devtools.send<{ sessionId: string }>('Target.attachToTarget', { targetId, flatten: true })
  const send = <T>(method: string, params: object): Promise<T> => devtools.send<T>(method, params, sessionId)
  const problems: string[] = []
  const leave = devtools.listen(sessionId, (method, params) => {
    const problem = problemOf(method, params)
    if (problem !== undefined) problems.push(problem)
  })
  for (const domain of ['Page', 'Runtime', 'Log']) await send(`${domain}.enable`, {})
  const loaded = devtools.next('Page.loadEventFired')
  await send('Page.navigate', { url })
  await loaded
  const evaluate = async <T>(expression: string): Promise<T> => {
    const params = { expression, returnByValue: true, awaitPromise: true }
    const { result, exceptionDetails } = await send<Evaluated>('Runtime.evaluate', params)
    if (exceptionDetails !== undefined) {
      throw new Error(`${expression}: ${exceptionDetails.text} ${exceptionDetails.exception?.description}`)
    }
    return result.value as T
  }
  return {
    evaluate,
    until: (expression) => evaluate(untilTrue(expression)),
    untilStill: () => evaluate(untilTrue('document.getAnimations().length === 0')),
    async screenshot() {
      const { data } = await send<{ data: string }>('Page.captureScreenshot', { format: 'png' })
      return Buffer.from(data, 'base64')
    },
    async look({ width, height, scheme }) {
      await send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 })
      await send('Emulation.setScrollbarsHidden', { hidden: true })
      const features = [{ name: 'prefers-color-scheme', value: scheme }]
      await send('Emulation.setEmulatedMedia', { features })
    },
    problems,
    async [Symbol.asyncDispose]() {
      leave()
      await devtools.send('Target.closeTarget', { targetId })
    },
  }
}

interface EventParams {
  readonly type?: string
  readonly args?: readonly { readonly value?: unknown; readonly description?: string }[]
  readonly entry?: { readonly level: string; readonly text: string; readonly url?: string }
  readonly exceptionDetails?: { readonly text: string; readonly exception?: { readonly description?: string } }
}

function problemOf(
  method: string,
  { type, args = [], entry, exceptionDetails: thrown }: EventParams,
): string | undefined {
  if (method === 'Runtime.exceptionThrown') return `${thrown?.text} ${thrown?.exception?.description}`
  if (method === 'Log.entryAdded' && entry?.level === 'error') return `${entry.text} ${entry.url}`
  if (method !== 'Runtime.consoleAPICalled' || type !== 'error') return undefined
  return args.map(({ value, description }) => String(value ?? description)).join(' ')
}

interface Evaluated {
  readonly result: { readonly value?: unknown }
  readonly exceptionDetails?: EventParams['exceptionDetails']
}

function untilTrue(expression: string): string {
  return `new Promise((resolve, reject) => {
    const end = performance.now() + ${TIMEOUT_MS}
    const look = () => {
      if (${expression}) resolve(true)
      else if (performance.now() > end) reject(new Error('never true: ' + document.body.innerText))
      else requestAnimationFrame(look)
    }
    look()
  })`
}

async function debuggerAddress(child: ChildProcess): Promise<string> {
  using limit = deadline(systemClock, TIMEOUT_MS, { operation: 'starting the browser' })
  const found = Promise.withResolvers<string>()
  child.once('error', found.reject)
  if (child.stderr !== null) {
    createInterface({ input: child.stderr }).on('line', (line) => {
      const [, address] = /^DevTools listening on (ws:.*)$/.exec(line) ?? []
      if (address !== undefined) found.resolve(address)
    })
  }
  return await abortable(found.promise, limit.signal)
}

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: EventParams
  readonly sessionId?: string
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

/** Sends commands of the DevTools protocol over one WebSocket, and receives replies and events. */
class Devtools {
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  readonly #expected = new Map<string, PromiseWithResolvers<void>>()
  readonly #listeners = new Map<string, (method: string, params: EventParams) => void>()
  #last = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => this.#onMessage(String(data)))
  }

  static async connect(address: string): Promise<Devtools> {
    const socket = new WebSocket(address)
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true })
      socket.addEventListener('error', reject, { once: true })
    })
    return new Devtools(socket)
  }

  async send<T>(method: string, params: object, sessionId?: string): Promise<T> {
    this.#last += 1
    const id = this.#last
    const reply = Promise.withResolvers<unknown>()
    this.#waiting.set(id, reply)
    this.#socket.send(JSON.stringify({ id, method, params, sessionId }))
    // `until` in the page must time out first, because its error shows the text of the page.
    using limit = deadline(systemClock, TIMEOUT_MS * 1.5, { operation: `${method} in the browser` })
    return (await abortable(reply.promise, limit.signal)) as T
  }

  /** Calls the listener with all events of a DevTools session. Returns a function that removes the listener. */
  listen(session: string, listener: (method: string, params: EventParams) => void): () => void {
    this.#listeners.set(session, listener)
    return () => void this.#listeners.delete(session)
  }

  /** Resolves at the next DevTools event of that name. */
  async next(name: string): Promise<void> {
    const expected = Promise.withResolvers<void>()
    this.#expected.set(name, expected)
    using limit = deadline(systemClock, TIMEOUT_MS, { operation: `${name} in the browser` })
    await abortable(expected.promise, limit.signal)
  }

  #onMessage(text: string): void {
    const { id, method = '', params = {}, sessionId = '', result, error } = JSON.parse(text) as Message
    this.#expected.get(method)?.resolve()
    if (id === undefined) this.#listeners.get(sessionId)?.(method, params)
    const waiting = id === undefined ? undefined : this.#waiting.get(id)
    if (id === undefined || waiting === undefined) return
    this.#waiting.delete(id)
    if (error === undefined) waiting.resolve(result)
    else waiting.reject(new Error(error.message))
  }

  close(): void {
    this.#socket.close()
  }
}
