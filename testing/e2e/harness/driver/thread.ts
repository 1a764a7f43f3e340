// Serves all CSI drivers of a run in a thread of its own. The runner is busy with the requests of all tests, and a sidecar
// gives its driver one second for each of the first calls. The runner answers all other calls through messages.
import { parentPort } from 'node:worker_threads'
import {
  ControllerService,
  GroupControllerService,
  IdentityService,
  NodeService,
  type Shape,
} from '@csi-sidecars/csi-proto'
import { type CsiDriver, type DriverCall, DriverFailure, startCsiDriver } from '@csi-sidecars/emulator'
import {
  type Answer,
  FIRST_CALLS,
  type FirstAnswers,
  type FromThread,
  type StoredIds,
  type ToThread,
} from './messages.ts'
import { plain } from './plain.ts'

const runner = parentPort
if (runner === null) throw new Error('thread.ts runs in a worker thread only')
const send = (message: FromThread): void => runner.postMessage(message)

/** The fields of the request of each RPC, by its name. */
const SHAPES: ReadonlyMap<string, () => Shape> = new Map(
  [IdentityService, ControllerService, NodeService, GroupControllerService]
    .flatMap((service) => Object.values(service))
    .map(({ path, requestShape }) => [path.slice(path.lastIndexOf('/') + 1), requestShape]),
)

const drivers = new Map<number, ServedDriver>()
const waiting = new Map<number, (answer: Answer) => void>()
let calls = 0

runner.on('message', (message: ToThread) => {
  switch (message.kind) {
    case 'open':
      void open(message.driver, message.socket, message.first)
      break
    case 'first':
      drivers.get(message.driver)?.setFirst(message.first)
      break
    case 'answer':
      waiting.get(message.call)?.(message.answer)
      waiting.delete(message.call)
      break
    case 'readStored': {
      const stored = drivers.get(message.driver)?.stored ?? { volumes: [], snapshots: [], groups: [] }
      send({ kind: 'stored', question: message.question, stored })
      break
    }
    case 'kill':
      void drivers.get(message.driver)?.stop()
      drivers.delete(message.driver)
      break
    default:
      message satisfies never
  }
})

async function open(id: number, socket: string, first: FirstAnswers): Promise<void> {
  const prepare = (driver: CsiDriver): void => void drivers.set(id, new ServedDriver(id, driver, first))
  const error = await startCsiDriver({ socket, prepare }).then(
    () => undefined,
    (thrown: unknown) => String(thrown),
  )
  send({ kind: 'opened', driver: id, error })
}

/** An emulated driver that reports each call to the runner, and lets the runner answer it. */
class ServedDriver {
  readonly #id: number
  readonly #driver: CsiDriver
  readonly #numbers = new Map<DriverCall, number>()
  #scripted: readonly string[] = []

  constructor(id: number, driver: CsiDriver, first: FirstAnswers) {
    this.#id = id
    this.#driver = driver
    for (const method of SHAPES.keys()) this.#setAnsweredByRunner(method, !FIRST_CALLS.includes(method))
    this.setFirst(first)
    driver.log.subscribe((call, ended) => (ended ? this.#onEnd(call) : this.#onStart(call)))
  }

  setFirst({ settings, scripted }: FirstAnswers): void {
    Object.assign(this.#driver.settings, settings)
    this.#scripted = scripted
    for (const method of FIRST_CALLS) this.#setAnsweredByRunner(method, scripted.includes(method))
  }

  get stored(): StoredIds {
    const idsOf = (all: readonly { readonly id: string }[]): readonly string[] => all.map(({ id }) => id)
    const { volumes } = this.#driver
    return {
      volumes: idsOf(volumes.all),
      snapshots: idsOf(volumes.snapshots.all),
      groups: idsOf(volumes.snapshots.groups),
    }
  }

  stop(): Promise<void> {
    return this.#driver.stop()
  }

  #setAnsweredByRunner(method: string, byRunner: boolean): void {
    this.#driver.script(method, byRunner ? (request: object, call) => this.#answered(request, call) : undefined)
  }

  #onStart(call: DriverCall): void {
    const { method, request, headers } = call
    calls += 1
    this.#numbers.set(call, calls)
    const received = {
      method,
      request: plain(request, SHAPES.get(method)?.() ?? []),
      start: Date.now(),
      timeoutMs: call.deadlineMs ?? Number.POSITIVE_INFINITY,
      metadata: { ...headers },
    }
    const isAnswered = FIRST_CALLS.includes(method) && !this.#scripted.includes(method)
    send({ kind: 'call', driver: this.#id, call: calls, received, isAnswered })
  }

  #onEnd(call: DriverCall): void {
    const number = this.#numbers.get(call) ?? 0
    this.#numbers.delete(call)
    waiting.delete(number)
    const end = { call: number, at: Date.now() }
    if (call.isAbandoned === true) send({ kind: 'cancelled', ...end })
    else send({ kind: 'ended', ...end, code: call.code ?? 0 })
  }

  /** Resolves with the runner's answer to a call. */
  async #answered(request: object, call: DriverCall): Promise<object> {
    const { promise, resolve } = Promise.withResolvers<Answer>()
    waiting.set(this.#numbers.get(call) ?? 0, resolve)
    const answer = await promise
    if ('reply' in answer) return answer.reply
    if ('emulated' in answer) return this.#driver.usualAnswer(call.method, request)
    const { code, message, retryInfo } = answer
    throw new DriverFailure(code, message, { retryAfterMs: retryInfo && retryInfo.seconds * 1000 })
  }
}
