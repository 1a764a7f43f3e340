import { Worker } from 'node:worker_threads'
import { type Clock, messageOf } from '@csi-sidecars/base'
import type { FuzzResult } from './fuzz.ts'
import { sharedInput, shownInput, type WorkerTask } from './shared-input.ts'

export interface RunOptions extends Omit<WorkerTask, 'shared'> {
  readonly clock: Clock
}

/** An input of a few kilobytes takes microseconds: what takes as long as this on a busy machine hangs. */
const HANG_MS = 10_000
const LOOK_MS = 1_000
/** No reader keeps what it has read. */
const MOST_HEAP_MIB = 1_024

/** Fuzzes in a thread of its own, so that an input that never ends, or takes all memory, is a finding as well. */
export async function run({ clock, ...task }: RunOptions): Promise<FuzzResult> {
  const shared = sharedInput()
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: { ...task, shared } satisfies WorkerTask,
    resourceLimits: { maxOldGenerationSizeMb: MOST_HEAP_MIB },
  })
  const { promise, resolve } = Promise.withResolvers<FuzzResult>()
  const endedBy = (why: string): void => {
    resolve({
      runs: shownInput(shared).number,
      covered: 0,
      found: [],
      finding: { input: shownInput(shared).input, why },
    })
  }
  worker.once('message', (result: FuzzResult) => resolve(inBuffers(result)))
  worker.once('error', (error) => endedBy(`the thread ended: ${messageOf(error)}`))
  worker.once('exit', (code) => endedBy(`the thread ended with ${code}`))
  const stopLooking = watchFor(clock, shared, () => endedBy(`no end after ${HANG_MS / 1000} s`))
  try {
    return await promise
  } finally {
    stopLooking()
    await worker.terminate()
  }
}

/** Calls `onHang` once the same input has been read for too long. */
function watchFor(clock: Clock, shared: SharedArrayBuffer, onHang: () => void): () => void {
  let last = -1
  let since = clock.monotonic()
  let cancel = (): void => undefined
  const look = (): void => {
    const { number } = shownInput(shared)
    const now = clock.monotonic()
    if (number !== last) {
      last = number
      since = now
    } else if (number > 0 && now - since > HANG_MS) return onHang()
    cancel = clock.schedule(LOOK_MS, look)
  }
  look()
  return () => cancel()
}

/** Between threads a Buffer becomes the bytes that it is. */
function inBuffers(result: FuzzResult): FuzzResult {
  const { finding } = result
  return {
    ...result,
    found: result.found.map((input) => Buffer.from(input)),
    finding: finding && { ...finding, input: Buffer.from(finding.input) },
  }
}
