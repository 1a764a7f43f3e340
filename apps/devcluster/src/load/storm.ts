import { abortable, type Clock, inParallel, scope, toError } from '@csi-sidecars/base'
import { PERSISTENT_VOLUME_CLAIMS, PODS, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import type { Devcluster } from '../cluster/devcluster.ts'
import { ensure } from '../cluster/register.ts'
import { claimObject, classObject, podObject } from '../story/objects.ts'

export interface StormOptions {
  /** The number of pods. Each has a volume, and they are spread over the nodes. */
  readonly pods: number
  readonly clock: Clock
  /** Called with the progress, at most once a second. */
  readonly onProgress?: (done: number, what: Phase) => void
  /** How long not a single pod may get any further before the storm is given up. */
  readonly timeoutMs?: number
}

type Phase = 'running' | 'gone'

/** How long things took, from the first request to the last pod. */
export interface StormResult {
  readonly runningMs: number
  readonly goneMs: number
}

/** How many requests of the storm's own are under way at once. */
const AT_ONCE = 50
const TIMEOUT_MS = 60_000

/**
 * All pods at once until all of them run, and then all of them away until nothing of them is left. Fails with how far
 * it came when it comes to a standstill.
 */
export async function runStorm(cluster: Devcluster, options: StormOptions, signal: AbortSignal): Promise<StormResult> {
  const { client, driver, caches } = cluster
  const { pods, clock } = options
  await ensure({ client, signal }, STORAGE_CLASSES, classObject(driver.name))
  const names = Array.from({ length: pods }, (_, index) => `storm-${index + 1}`)
  const began = clock.monotonic()
  const running: Journey = {
    names,
    to: 'running',
    follow: (arrived) =>
      caches.pods.subscribe((event) => {
        const pod = event.type === 'updated' ? event.after : event.object
        if (pod.phase === 'Running') arrived(pod.name)
      }),
  }
  await together(signal, [(life) => untilAll(running, options, life), (life) => makeAll(cluster, names, life)])
  const runningMs = clock.monotonic() - began
  const leaving = clock.monotonic()
  const gone: Journey = {
    names,
    to: 'gone',
    // Its PersistentVolume is deleted last: pod, attachment and claim have ended by then.
    follow: (arrived) =>
      caches.volumes.subscribe((event) => {
        if (event.type === 'deleted') arrived(event.object.claimRef?.name ?? '')
      }),
  }
  await together(signal, [(life) => untilAll(gone, options, life), (life) => deleteAll(cluster, names, life)])
  return { runningMs, goneMs: clock.monotonic() - leaving }
}

function makeAll({ client, nodeNames }: Devcluster, names: readonly string[], signal: AbortSignal): Promise<void> {
  return inParallel(AT_ONCE, names, async (name, index) => {
    const node = nodeNames[index % nodeNames.length] ?? ''
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimObject('1Gi', name), { signal })
    await client.create(PODS, podObject({ pod: name, node, claim: name }), { signal })
  })
}

function deleteAll({ client }: Devcluster, names: readonly string[], signal: AbortSignal): Promise<void> {
  return inParallel(AT_ONCE, names, async (name) => {
    const ref = { namespace: 'default', name }
    await client.delete(PODS, ref, { signal })
    await client.delete(PERSISTENT_VOLUME_CLAIMS, ref, { signal })
  })
}

/** The first that fails ends the others. */
async function together(signal: AbortSignal, works: readonly ((life: AbortSignal) => Promise<void>)[]): Promise<void> {
  using life = scope(signal)
  try {
    await Promise.all(works.map((work) => work(life.signal)))
  } catch (error) {
    life.abort(toError(error))
    throw error
  }
}

/** All of these have to get there. */
interface Journey {
  readonly names: readonly string[]
  readonly to: Phase
  /** Calls back for each that has arrived, possibly more than once; returns the undo. */
  readonly follow: (arrived: (name: string) => void) => () => void
}

async function untilAll({ names, to, follow }: Journey, options: StormOptions, signal: AbortSignal): Promise<void> {
  const { clock, onProgress, timeoutMs = TIMEOUT_MS } = options
  const left = new Set(names)
  const done = Promise.withResolvers<void>()
  const arrivedNow = (): number => names.length - left.size
  const report = atMostOnceASecond(clock, () => onProgress?.(arrivedNow(), to))
  const giveUp = (): void => {
    const far = `${arrivedNow()} of ${names.length} pods are ${to}`
    done.reject(new Error(`the storm has come to a standstill: ${far}, and no other for ${timeoutMs / 1000} s`))
  }
  let cancel = clock.schedule(timeoutMs, giveUp)
  const leave = follow((name) => {
    if (!left.delete(name)) return
    cancel()
    cancel = clock.schedule(timeoutMs, giveUp)
    report()
    if (left.size === 0) done.resolve()
  })
  try {
    await abortable(done.promise, signal)
  } finally {
    cancel()
    leave()
  }
}

function atMostOnceASecond(clock: Clock, report: () => void): () => void {
  let last = clock.monotonic()
  return () => {
    const now = clock.monotonic()
    if (now - last < 1000) return
    last = now
    report()
  }
}
