import { Worker } from 'node:worker_threads'
import type { Answer, FirstAnswers, FromThread, ReceivedCall, StoredIds, ToThread } from './messages.ts'

/** The end of a call. Times are wall times in milliseconds. */
export interface ServedCallEnd {
  end: number | undefined
  /** The returned gRPC code; undefined while the call hangs. */
  code: number | undefined
  cancelled: boolean
  /** The time when the caller gave up or the connection ended. Undefined if the driver answered first. */
  abandonedAt: number | undefined
}

/** A recorded call, and its answer. The answer is undefined if the thread answers the call. */
export interface ServedCall {
  readonly entry: ServedCallEnd
  readonly answer: Promise<Answer | 'hang'> | undefined
}

type Receive = (received: ReceivedCall, isAnswered: boolean) => ServedCall

/** A driver that listens on its socket, in the thread of all drivers. */
export interface ServedDriver {
  setFirst(first: FirstAnswers): void
  stored(): Promise<StoredIds>
  kill(): void
}

interface Opening {
  readonly receive: Receive
  readonly opened: PromiseWithResolvers<void>
}

/** All drivers of this process. The thread starts with the first driver. */
class DriverThread {
  readonly #worker = new Worker(new URL('./thread.ts', import.meta.url))
  readonly #drivers = new Map<number, Opening>()
  readonly #calls = new Map<number, ServedCallEnd>()
  readonly #questions = new Map<number, (stored: StoredIds) => void>()
  readonly #open = new Set<number>()
  #opened = 0
  #asked = 0

  constructor() {
    this.#worker.on('message', (message: FromThread) => this.#receive(message))
  }

  async open(socket: string, first: FirstAnswers, receive: Receive): Promise<ServedDriver> {
    this.#opened += 1
    const driver = this.#opened
    const opened = Promise.withResolvers<void>()
    this.#drivers.set(driver, { receive, opened })
    this.#open.add(driver)
    this.#send({ kind: 'open', driver, socket, first })
    this.#worker.ref()
    await opened.promise
    return {
      setFirst: (answers) => this.#send({ kind: 'first', driver, first: answers }),
      stored: () => this.#stored(driver),
      kill: () => this.#kill(driver),
    }
  }

  #stored(driver: number): Promise<StoredIds> {
    this.#asked += 1
    const { promise, resolve } = Promise.withResolvers<StoredIds>()
    this.#questions.set(this.#asked, resolve)
    this.#send({ kind: 'readStored', driver, question: this.#asked })
    return promise
  }

  #kill(driver: number): void {
    this.#send({ kind: 'kill', driver })
    this.#open.delete(driver)
    // Only open drivers keep the process alive.
    if (this.#open.size === 0) this.#worker.unref()
  }

  #send(message: ToThread): void {
    this.#worker.postMessage(message)
  }

  #receive(message: FromThread): void {
    switch (message.kind) {
      case 'opened': {
        const opening = this.#drivers.get(message.driver)
        if (message.error === undefined) opening?.opened.resolve()
        else opening?.opened.reject(new Error(message.error))
        return
      }
      case 'call': {
        const served = this.#drivers.get(message.driver)?.receive(message.received, message.isAnswered)
        if (served === undefined) return
        this.#calls.set(message.call, served.entry)
        if (served.answer !== undefined) void this.#answer(message.call, served.entry, served.answer)
        return
      }
      case 'ended': {
        const entry = this.#removeCall(message.call)
        if (entry === undefined) return
        entry.end ??= message.at
        entry.code ??= message.code
        return
      }
      case 'cancelled': {
        const entry = this.#removeCall(message.call)
        if (entry === undefined) return
        entry.cancelled = true
        if (entry.end === undefined) entry.abandonedAt = entry.end = message.at
        return
      }
      case 'stored':
        this.#questions.get(message.question)?.(message.stored)
        this.#questions.delete(message.question)
        return
      default:
        message satisfies never
    }
  }

  /** Returns the record of a call that has ended, and forgets the call. */
  #removeCall(call: number): ServedCallEnd | undefined {
    const entry = this.#calls.get(call)
    this.#calls.delete(call)
    return entry
  }

  async #answer(call: number, entry: ServedCallEnd, answer: Promise<Answer | 'hang'>): Promise<void> {
    const settledAnswer = await answer.catch((error: unknown) => ({ code: 13, message: String(error) }))
    if (settledAnswer === 'hang') return
    if (!('emulated' in settledAnswer)) {
      entry.end = Date.now()
      entry.code = 'reply' in settledAnswer ? 0 : settledAnswer.code
    }
    this.#send({ kind: 'answer', call, answer: settledAnswer })
  }
}

let thread: DriverThread | undefined

/** Starts a driver on a socket. `receive` answers all calls but the first calls that have no script. */
export function serveDriver(socket: string, first: FirstAnswers, receive: Receive): Promise<ServedDriver> {
  thread ??= new DriverThread()
  return thread.open(socket, first, receive)
}
