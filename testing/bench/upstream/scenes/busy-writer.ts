/** Writes into the server's store at a steady rate. A separate process does this, so that it delays no measurement. */
import process from 'node:process'
import { type Put, putAll } from '../etcd.ts'

/** The order of the parent process: write these objects one after another, and repeat. */
export interface Beats {
  readonly etcdUrl: string
  /** Their values contain `BEAT`, in whose place comes a number that grows. */
  readonly objects: readonly Put[]
  readonly perSecond: number
}

/** How many objects have been written so far; the answer to each later message. */
export type Written = number

export const BEAT = '--beat--'
/** Small pieces: a burst would be measured as a delay. */
const EVERY_MS = 20

let written = 0
let next = 0

/** Keeps up with the clock while etcd does, and never has more than one transaction under way. */
async function beat({ etcdUrl, objects, perSecond }: Beats): Promise<void> {
  const started = performance.now()
  let dropped = 0
  while (process.connected) {
    const due = Math.floor(((performance.now() - started) * perSecond) / 1000) - written - dropped
    const now = Math.min(due, MOST)
    // Writes that a stalled machine has missed are dropped, because a burst would not be a steady rate.
    dropped += due - now
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

/** The limit of writes in one transaction of etcd. */
const MOST = 120

function nextOf(objects: readonly Put[]): Put {
  const { key, value } = objects[next % objects.length] ?? { key: '', value: '' }
  next += 1
  return { key, value: value.replace(BEAT, String(next)) }
}

process.once('message', (beats: Beats) => {
  process.on('message', () => process.send?.(written satisfies Written))
  beat(beats).catch((error: unknown) => {
    // A write that is cut off by the end of the scene is no failure.
    if (!process.connected) return
    process.stderr.write(`${String(error)}\n`)
    process.exit(1)
  })
})
