/**
 * The cost of the work queue with 100,000 waiting keys, for each of its orders.
 * Run with: node testing/bench/workqueue.ts
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { systemClock } from '@csi-sidecars/base'
import { FifoOrder, type KeyOrder, Lanes, perKeyExponential, WorkQueue } from '@csi-sidecars/workqueue'
import { median } from '../e2e/harness/median.ts'

const KEYS = 100_000
const ROUNDS = 9

/** Made once, so that the text of the keys, which the caches share with the queue, is not counted. */
const keys = Array.from({ length: KEYS }, (_, number) => `csi-${number.toString(16).padStart(8, '0')}`)

const orders: Record<string, () => KeyOrder> = {
  FifoOrder: () => new FifoOrder(),
  Lanes: () => {
    const placements = new Map(
      keys.map((key, number) => [key, { lane: number % 2, limits: [{ group: `node-${number % 100}`, max: 10 }] }]),
    )
    const nowhere = { lane: 0, limits: [] }
    return new Lanes({
      workers: 10,
      lanes: [{ reserved: 3 }, { reserved: 0 }],
      placementOf: (key) => placements.get(key) ?? nowhere,
    })
  },
}

interface Figures {
  /** Each key added once to an empty queue. */
  readonly addsPerSecond: number
  readonly bytesPerKey: number
  /** Keys taken by one worker and given back. */
  readonly runsPerSecond: number
}

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

function heapBytes(): number {
  collectGarbage()
  collectGarbage()
  return process.memoryUsage().heapUsed
}

async function measure(makeOrder: () => KeyOrder): Promise<Figures> {
  const limiter = perKeyExponential({ baseMs: 1000, maxMs: 300_000 })
  const queue = new WorkQueue({ clock: systemClock, limiter, order: makeOrder() })
  const bytesBefore = heapBytes()
  const started = performance.now()
  for (const key of keys) queue.add(key)
  const added = performance.now()
  const bytes = heapBytes() - bytesBefore
  const emptying = performance.now()
  while (queue.length > 0) queue.done((await queue.get()) ?? '')
  const emptied = performance.now()
  return {
    addsPerSecond: (KEYS * 1000) / (added - started),
    bytesPerKey: bytes / KEYS,
    runsPerSecond: (KEYS * 1000) / (emptied - emptying),
  }
}

export async function benchWorkqueue(): Promise<void> {
  for (const [name, makeOrder] of Object.entries(orders)) {
    const rounds: Figures[] = []
    for (let round = 0; round < ROUNDS; round += 1) rounds.push(await measure(makeOrder))
    const [adds, bytes, runs] = (['addsPerSecond', 'bytesPerKey', 'runsPerSecond'] as const).map((figure) =>
      Math.round(median(rounds.map((round) => round[figure]))).toLocaleString('en'),
    )
    process.stdout.write(`${name.padEnd(8)}  ${adds} adds/s  ${bytes} bytes/key  ${runs} runs/s\n`)
  }
}

if (import.meta.main) await benchWorkqueue()
