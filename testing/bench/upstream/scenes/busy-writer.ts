/** Writes objects into etcd at a steady rate. As a separate process it does not delay the measuring process. */
import process from 'node:process'
import { type PutRequest, putAll } from '../copies.ts'

/** The message of the parent process: the objects to write to etcd in a loop, and the rate. */
export interface Beats {
  readonly etcdUrl: string
  /** The objects to write. Each write replaces the marker `BEAT` in the value by a growing number. */
  readonly objects: readonly PutRequest[]
  readonly perSecond: number
}

/** The answer of the child process to each later message: the number of objects written so far. */
export type Written = number

export const BEAT = '--beat--'
/** The pause between transactions. It is short, because a burst of writes would be measured as a delay. */
const EVERY_MS = 20

let written = 0
let next = 0

/** Writes objects at the requested rate, one transaction at a time. Drops writes if etcd is too slow. */
async function beat({ etcdUrl, objects, perSecond }: Beats): Promise<void> {
  const started = performance.now()
  let dropped = 0
  while (process.connected) {
    const pending = Math.floor(((performance.now() - started) * perSecond) / 1000) - written - dropped
    const now = Math.min(pending, MAX_WRITES)
    // Writes that a stalled machine has missed are dropped, because a burst would not be a steady rate.
    dropped += pending - now
    if (now > 0) {
      await putAll(
        etcdUrl,
        Array.from({ length: now }, () => nextOf(objects)),
      )
      written += now
    }
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
  }
}

/** The maximum number of writes in one transaction, below the limit of 128 of etcd. */
const MAX_WRITES = 120

function nextOf(objects: readonly PutRequest[]): PutRequest {
  const { key, value } = objects[next % objects.length] ?? { key: '', value: '' }
  next += 1
  return { key, value: value.replace(BEAT, String(next)) }
}

process.once('message', (beats: Beats) => {
  process.on('message', () => process.send?.(written satisfies Written))
  beat(beats).catch((error: unknown) => {
    // A write that fails because the parent has ended the benchmark is not an error.
    if (!process.connected) return
    process.stderr.write(`${String(error)}\n`)
    process.exit(1)
  })
})
