import { abortable, type Clock } from '@csi-sidecars/base'
import { PERSISTENT_VOLUME_CLAIMS, PODS, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import type { Claim } from '../caches/claim.ts'
import type { Volume } from '../caches/volume.ts'
import type { Devcluster } from '../cluster/devcluster.ts'
import { ensure } from '../cluster/register.ts'
import { claimObject, classObject, podObject } from '../story/objects.ts'

export interface StormOptions {
  /** So many pods, each with a volume of its own, spread over the nodes. */
  readonly pods: number
  readonly clock: Clock
  /** Told of progress, at most once a second. */
  readonly onProgress?: (done: number, what: 'running' | 'gone') => void
}

/** How long things took, from the first request to the last pod. */
export interface StormResult {
  readonly runningMs: number
  readonly goneMs: number
}

/** How many requests of the storm's own are under way at once. */
const AT_ONCE = 50

/** All pods at once until all of them run, and then all of them away until nothing of them is left. */
export async function runStorm(cluster: Devcluster, options: StormOptions, signal: AbortSignal): Promise<StormResult> {
  const { client, driver, nodeNames } = cluster
  const { pods, clock } = options
  await ensure(client, STORAGE_CLASSES, classObject(driver.name), signal)
  const names = Array.from({ length: pods }, (_, index) => `storm-${index + 1}`)
  const began = clock.monotonic()
  const running = untilRunning(cluster, names, options, signal)
  const made = each(names, async (name, index) => {
    const node = nodeNames[index % nodeNames.length] ?? ''
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimObject('1Gi', name), { signal })
    await client.create(PODS, podObject({ pod: name, node, claim: name }), { signal })
  })
  await Promise.all([made, running])
  const runningMs = clock.monotonic() - began
  const leaving = clock.monotonic()
  const gone = untilGone(cluster, options, signal)
  const deleted = each(names, async (name) => {
    const ref = { namespace: 'default', name }
    await client.delete(PODS, ref, { signal })
    await client.delete(PERSISTENT_VOLUME_CLAIMS, ref, { signal })
  })
  await Promise.all([deleted, gone])
  return { runningMs, goneMs: clock.monotonic() - leaving }
}

/** Some at a time, in order. */
async function each(names: readonly string[], work: (name: string, index: number) => Promise<void>): Promise<void> {
  const entries = names.entries()
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (const [index, name] of entries) await work(name, index)
  })
  await Promise.all(workers)
}

function untilRunning(
  { caches }: Devcluster,
  names: readonly string[],
  { clock, onProgress }: StormOptions,
  signal: AbortSignal,
): Promise<void> {
  const wanted = new Set(names)
  const tell = atMostOnceASecond(clock, () => onProgress?.(names.length - wanted.size, 'running'))
  return until(signal, (done) =>
    caches.pods.subscribe((event) => {
      const pod = event.type === 'updated' ? event.after : event.object
      if (pod.phase === 'Running') wanted.delete(pod.name)
      tell()
      if (wanted.size === 0) done()
    }),
  )
}

/** Gone is a volume when its PersistentVolume is: everything else has ended by then. */
function untilGone(
  { caches }: Devcluster,
  { clock, onProgress, pods }: StormOptions,
  signal: AbortSignal,
): Promise<void> {
  const { volumes, claims } = caches
  const tell = atMostOnceASecond(clock, () => onProgress?.(Math.max(0, pods - volumes.store.size), 'gone'))
  return until(signal, (done) => {
    const look = (): void => {
      tell()
      if (!holdsStorm(volumes.store.values(), claims.store.values())) done()
    }
    return volumes.subscribe((event) => event.type === 'deleted' && look())
  })
}

/** Ends at the first that is found, so it costs little while there are many. */
function holdsStorm(volumes: Iterable<Volume>, claims: Iterable<Claim>): boolean {
  for (const { claimRef } of volumes) if (claimRef?.name.startsWith('storm-')) return true
  for (const { name } of claims) if (name.startsWith('storm-')) return true
  return false
}

async function until(signal: AbortSignal, listen: (done: () => void) => () => void): Promise<void> {
  const done = Promise.withResolvers<void>()
  const leave = listen(done.resolve)
  try {
    await abortable(done.promise, signal)
  } finally {
    leave()
  }
}

function atMostOnceASecond(clock: Clock, tell: () => void): () => void {
  let last = clock.monotonic()
  return () => {
    const now = clock.monotonic()
    if (now - last < 1000) return
    last = now
    tell()
  }
}
