import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { CancelledError, type Clock, deadline, isAbort } from '@csi-sidecars/base'
import {
  type ChooseFault,
  codeOf,
  messageTextOf,
  methodOf,
  type ProxiedCall,
  type ProxyAnswer,
  requestOf,
  responseOf,
} from './call.ts'
import { Link, type PassingCall } from './link.ts'

/** The sockets of a proxy, the source of its faults and the receiver of its reports. */
export interface ProxyOptions {
  /** The path on which the proxy listens. */
  readonly socket: string
  /** The path on which the driver listens. */
  readonly driver: string
  readonly clock: Clock
  readonly choose: ChooseFault
  /** Called for each call when it begins and again when it has ended, before the caller gets the answer. */
  readonly report: (call: ProxiedCall) => void
  /** Called before a late repetition of a call. Returns true if the repetition does no harm now. */
  readonly mayComeAgain: (call: Asked) => boolean
}

/** A running proxy between a driver and its clients. */
export interface DriverProxy {
  /** The address of the proxy, `unix:///path`. */
  readonly address: string
  stop(): Promise<void>
}

/** The maximum number of repetitions. A failed repetition is tried again, because the failure may be temporary. */
const REPEATS = 3
const REPEAT_PAUSE_MS = 300
const LATE_CALL_MS = 30_000
/** The time between the start of a call and the break of the connection. */
const CUT_MS = 5

/** The number of calls through all proxies. It makes the IDs of calls unique. */
let calls = 0

/** Starts a proxy. While the driver does not run, the proxy closes new connections at once. */
export async function startProxy(options: ProxyOptions): Promise<DriverProxy> {
  const { socket, driver } = options
  const passage = new Passage(options)
  const open = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(driver)
    for (const each of [near, far]) {
      open.add(each)
      each.once('close', () => open.delete(each))
    }
    near.on('error', () => far.destroy())
    near.once('close', () => far.destroy())
    far.on('error', () => near.destroy())
    far.once('close', () => near.destroy())
    far.once('connect', () => {
      if (!near.destroyed) void new Link(near, far, (call) => void passage.serve(call))
    })
  })
  await rm(socket, { force: true })
  await once(server.listen(socket), 'listening')
  return {
    address: `unix://${socket}`,
    stop: () =>
      new Promise((resolve) => {
        passage.stop()
        server.close(() => resolve())
        for (const each of open) each.destroy()
      }),
  }
}

/** Forwards calls to the driver and answers to the callers, and injects the chosen faults. */
class Passage {
  readonly #options: ProxyOptions
  /** A promise for each volume with a running late repetition. It resolves at the end of the repetition. */
  readonly #late = new Map<string, Promise<void>>()
  readonly #life = new AbortController()

  constructor(options: ProxyOptions) {
    this.#options = options
  }

  /** Aborts all pauses and late repetitions. */
  stop(): void {
    this.#life.abort(new CancelledError('the proxy is stopped'))
  }

  async serve(call: PassingCall): Promise<void> {
    try {
      await this.#pass(call)
    } catch (error) {
      if (!isAbort(error) || !this.#life.signal.aborted) throw error
    }
  }

  async #pass(call: PassingCall): Promise<void> {
    const { choose } = this.#options
    const asked = { method: methodOf(call.path), request: requestOf(call.path, call.body) }
    const fault = choose(asked)
    if (fault?.kind === 'delay') await this.#wait(fault.ms)
    while (this.#late.has(volumeOf(asked))) await this.#late.get(volumeOf(asked))
    if (call.givenUp.aborted) return
    if (fault?.kind === 'cut') this.#options.clock.schedule(CUT_MS, () => call.cut())
    const first = await this.#ask(call, { ...asked, fault: fault?.kind }, call.givenUp)
    if (first === undefined) return call.reset()
    if (fault?.kind === 'loseAnswer') return call.reset()
    const good = codeOf(first) === 0
    call.answer(fault?.kind === 'repeat' && good ? await this.#again(call, asked, first) : first)
    if (fault?.kind !== 'repeatLate' || !good) return
    await this.#wait(fault.ms)
    if (this.#options.mayComeAgain(asked)) await this.#comeAgain(call, asked)
  }

  /** Repeats the call later. Other calls for the volume wait, because CSI defines no result for concurrent calls. */
  async #comeAgain(call: PassingCall, asked: Asked): Promise<void> {
    const volume = volumeOf(asked)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#late.set(volume, promise)
    try {
      using limit = deadline(this.#options.clock, LATE_CALL_MS, {
        operation: 'a call that comes once more',
        signal: this.#life.signal,
      })
      await this.#ask(call, { ...asked, fault: 'repeatLate' }, limit.signal)
    } finally {
      this.#late.delete(volume)
      resolve()
    }
  }

  /** Repeats the call at once and returns the new answer, as if the caller had not received the first answer. */
  async #again(call: PassingCall, asked: Asked, first: ProxyAnswer): Promise<ProxyAnswer> {
    for (let left = REPEATS; left > 0; left -= 1) {
      const again = await this.#ask(call, { ...asked, fault: 'repeat' }, call.givenUp)
      if (again === undefined) return first
      if (codeOf(again) === 0) return again
      await this.#wait(REPEAT_PAUSE_MS)
    }
    return first
  }

  #wait(ms: number): Promise<void> {
    return this.#options.clock.sleep(ms, this.#life.signal)
  }

  /** Sends the call to the driver, and reports its begin and its end. */
  async #ask(
    call: PassingCall,
    asked: Pick<ProxiedCall, 'method' | 'request' | 'fault'>,
    signal: AbortSignal,
  ): Promise<ProxyAnswer | undefined> {
    const { clock, report } = this.#options
    calls += 1
    const begun: ProxiedCall = {
      ...asked,
      id: calls,
      start: clock.monotonic(),
      end: undefined,
      code: undefined,
      message: '',
      response: undefined,
    }
    report(begun)
    const answer = await call.forward(signal)
    const heard =
      answer === undefined
        ? { message: 'the driver was lost, or the call given up' }
        : { code: codeOf(answer), message: messageTextOf(answer), response: responseOf(call.path, answer) }
    report({ ...begun, ...heard, end: clock.monotonic() })
    return answer
  }
}

type Asked = Pick<ProxiedCall, 'method' | 'request'>

function volumeOf({ request }: Asked): string {
  const id = request['volumeId']
  return typeof id === 'string' ? id : ''
}
