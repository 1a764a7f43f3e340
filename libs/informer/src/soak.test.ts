import { FakeClock } from '@csi-sidecars/base/testing'
import type { Resource } from '@csi-sidecars/kube-types'
import { silentLogger } from '@csi-sidecars/telemetry'
import { expect, test } from '@jest/globals'
import { createInformer, type Informer } from './informer.ts'
import type { Cached, InformerEvent } from './reader.ts'
import { FaultyServer, type Thing } from './testing/faulty-server.ts'

const THINGS: Resource<Thing> = {
  group: 'example.com',
  version: 'v1',
  plural: 'things',
  kind: 'Thing',
  namespaced: false,
  subresources: [],
}
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f']
const STEPS = 40
const RUNS = Number(process.env['SOAK_RUNS'] ?? 500)

interface Kept extends Cached {
  readonly value: number
}

/** Returns a random number generator. The seed of a failed run reproduces it. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Rebuilds the state from the events, and checks that each event fits the earlier events. */
class Listener {
  readonly kept = new Map<string, Kept>()

  hear(event: InformerEvent<Kept>): void {
    if (event.type === 'added') {
      expect(this.kept.has(event.object.key)).toBe(false)
      this.kept.set(event.object.key, event.object)
    } else if (event.type === 'deleted') {
      expect(this.kept.get(event.object.key)).toEqual(event.object)
      this.kept.delete(event.object.key)
    } else {
      expect(this.kept.get(event.before.key)).toEqual(event.before)
      expect(event.after.uid).toBe(event.before.uid)
      expect(Number(event.after.resourceVersion)).toBeGreaterThan(Number(event.before.resourceVersion))
      this.kept.set(event.after.key, event.after)
    }
  }
}

function informerOf(server: FaultyServer, clock: FakeClock): Informer<Kept, Thing> {
  return createInformer<Thing, Kept>({
    client: server.client,
    resource: THINGS,
    project: ({ metadata: { name, uid, resourceVersion }, value }) => ({ key: name, uid, resourceVersion, value }),
    resyncMs: 0,
    pageSize: 2,
    clock,
    log: silentLogger,
  })
}

/**
 * Waits until the informer has caught up, and then checks that no cached object is older than the object on the server.
 */
async function catchUp(
  { server, informer }: { server: FaultyServer; informer: Informer<Kept, Thing> },
  now: number,
  signal: AbortSignal,
) {
  const before = new Map([...server.objects].map(([key, { value }]) => [key, value]))
  const last = server.version
  await informer.ensureListedSince(now, signal)
  for (const { key, value } of informer.store.values()) {
    expect(value).toBeGreaterThanOrEqual(before.get(key) ?? last + 1)
  }
  for (const [key, value] of before) {
    if (server.objects.get(key)?.value === value) expect(informer.store.get(key)?.value).toBe(value)
  }
}

async function soak(seed: number): Promise<void> {
  const random = generator(seed)
  const clock = new FakeClock({ random })
  const server = new FaultyServer({ clock, random, streams: random() < 0.5 })
  const informer = informerOf(server, clock)
  const listener = new Listener()
  const wrong: unknown[] = []
  informer.subscribe((event) => {
    try {
      listener.hear(event)
    } catch (error) {
      wrong.push(error)
    }
  })
  const stop = new AbortController()
  const done = informer.run(stop.signal)
  const caughtUp: Promise<void>[] = []
  for (let step = 0; step < STEPS; step += 1) {
    const name = NAMES[Math.floor(random() * NAMES.length)] ?? 'a'
    const step = random()
    if (step < 0.45) {
      const result = server.upsert(name)
      // The answer to our own write may come long before its watch event, or long after the deletion of the object.
      if (random() < 0.5) clock.schedule(random() * 200, () => informer.storeAnswer(result))
    } else if (step < 0.7) server.delete(name)
    else if (step < 0.78) server.compact()
    else if (step < 0.82) server.restart(random() * 3000)
    else if (step < 0.86) {
      const waiting = catchUp({ server, informer }, clock.monotonic(), stop.signal)
      caughtUp.push(waiting.catch((error: unknown) => void wrong.push(error)))
    }
    await clock.advance(random() * 100)
  }
  server.faulty = false
  await clock.advance(120_000)
  await Promise.all(caughtUp)
  const truth = Object.fromEntries([...server.objects].map(([key, { value }]) => [key, value]))
  const stored = Object.fromEntries([...informer.store.values()].map(({ key, value }) => [key, value]))
  const heard = Object.fromEntries([...listener.kept].map(([key, { value }]) => [key, value]))
  expect({ seed, wrong, stored, heard }).toEqual({ seed, wrong: [], stored: truth, heard: truth })
  stop.abort()
  await done
}

test(`${RUNS} random histories leave the store and its subscribers in the state of the server`, async () => {
  for (let seed = 1; seed <= RUNS; seed += 1) await soak(seed)
}, 600_000)
