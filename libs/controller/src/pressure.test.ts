import { CancelledError } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { Metrics } from '@csi-sidecars/telemetry'
import { FifoOrder } from '@csi-sidecars/workqueue'
import { describe, expect, it } from '@jest/globals'
import { Backlog } from './backlog.ts'
import { type Controller, WORK_COMPLETED } from './controller.ts'
import { adaptToPressure } from './pressure.ts'
import { runTerm } from './term.ts'

const CALL_MS = 500
const DEADLINE_MS = 10_000

/**
 * A back end that works on one call after the other. A call that the client gives up still takes its time, and a
 * repeated call waits at the end again, so that too many calls at once never end.
 */
class SlowBackEnd {
  readonly done = new Set<string>()
  readonly #clock: FakeClock
  #freeAt = 0

  constructor(clock: FakeClock) {
    this.#clock = clock
  }

  async create(key: string): Promise<void> {
    const now = this.#clock.monotonic()
    this.#freeAt = Math.max(now, this.#freeAt) + CALL_MS
    const waitMs = this.#freeAt - now
    await this.#clock.sleep(Math.min(waitMs, DEADLINE_MS))
    if (waitMs > DEADLINE_MS) throw new RpcError(CODES.DeadlineExceeded, 'context deadline exceeded')
    this.done.add(key)
  }
}

/** Lets 100 workers create 500 volumes for ten minutes. Returns the number of created volumes and the metrics. */
async function create(adapt: boolean): Promise<{ readonly created: number; readonly text: string }> {
  const clock = new FakeClock()
  const metrics = new Metrics()
  const backlog = new Backlog({ driver: 'csi.example.com', clock, metrics })
  const backEnd = new SlowBackEnd(clock)
  const keys = Array.from({ length: 500 }, (_, number) => `c${number}`)
  const controller: Controller = {
    name: 'claims',
    workers: 100,
    order: new FifoOrder(),
    backoff: { baseMs: 1_000, maxMs: 300_000 },
    caches: [],
    wakers: {},
    sources: [
      (queue) => {
        for (const key of keys) queue.add(key)
        return () => {}
      },
    ],
    reconcile: async (key) => {
      await backEnd.create(key)
      return WORK_COMPLETED
    },
    pending: {
      sidecar: 'external-provisioner',
      subject: (key) =>
        backEnd.done.has(key)
          ? undefined
          : { operation: 'provision', object: { kind: 'PersistentVolumeClaim', namespace: 'ns', name: key, uid: key } },
    },
    callsDriver: false,
  }
  const stop = new AbortController()
  const lead = { stop: stop.signal, cancelRuns: stop.signal, assertLeading: () => {}, soleSince: 0 }
  const running = adapt ? adaptToPressure(controller, { clock, backlog }) : controller
  const ended = runTerm(lead, [running], { clock, backlog })
  await clock.advance(600_000)
  const text = await metrics.text()
  stop.abort(new CancelledError('stop'))
  await ended
  return { created: backEnd.done.size, text }
}

describe('500 creations by 100 workers on a back end that does two a second, with a deadline of 10 s', () => {
  it('all end if fewer calls run at once, and a metric shows the limit', async () => {
    const { created, text } = await create(true)
    expect(created).toBe(500)
    const [, limit] =
      /^csi_sidecar_driver_in_flight_limit\{driver_name="csi.example.com",name="claims"\} (\d+)$/m.exec(text) ?? []
    expect(Number(limit)).toBeLessThan(40)
  })

  it('many never end if all workers call', async () => {
    expect((await create(false)).created).toBeLessThan(400)
  })
})
