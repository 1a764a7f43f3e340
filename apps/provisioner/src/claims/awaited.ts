import { CancelledError, type Clock, isAbort, scope } from '@csi-sidecars/base'
import type { Cause, Enqueuer, Source } from '@csi-sidecars/controller'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import {
  type KubeObject,
  type Resource,
  refOf,
  SECRETS,
  VOLUME_ATTRIBUTES_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'

/** Kinds of objects that claims wait for. They are not cached, because roles of provisioners cannot watch them all. */
const RESOURCES: ReadonlyMap<string, Resource<KubeObject>> = new Map<string, Resource<KubeObject>>([
  ['secret', SECRETS],
  ['snapshot', VOLUME_SNAPSHOTS],
  ['snapshotContent', VOLUME_SNAPSHOT_CONTENTS],
  ['attributesClass', VOLUME_ATTRIBUTES_CLASSES],
])

/** The pause between two rounds of reads. A claim that has waited up to a minute notices a change within a second. */
const PERIOD_MS = 700
/** An object is read again after a hundredth of the time that claims have waited for it. No user notices this delay. */
const PAUSES_IN_WAIT = 100
const LONGEST_PAUSE_MS = 30_000
/** The maximum number of objects that are read in one period. If more must be read, they take turns. */
const READS_PER_PERIOD = 10
const MISSING = ''

interface AwaitedObject {
  readonly since: number
  version: string
  dueAt: number
}

/**
 * Reruns claims when an uncached object that they wait for changes. Reads each object again and again, because
 * published roles of provisioners do not allow to watch, for example, all Secrets.
 *
 * Guarantees: each object is read once for all claims that wait for it, with low priority. However many claims wait, at
 * most `READS_PER_PERIOD` requests are sent in a period. Nothing is read while no claim waits.
 */
export class AwaitedObjects {
  readonly #api: Pick<KubeClient, 'get'>
  readonly #clock: Clock
  /** The objects that each claim waits for, by the UID of the claim. */
  readonly #claims = new Map<string, readonly Cause[]>()
  readonly #objects = new Map<string, AwaitedObject>()
  #begin: () => void = () => undefined
  #isReading = false

  constructor(api: Pick<KubeClient, 'get'>, clock: Clock) {
    this.#api = api
    this.#clock = clock
  }

  readonly source: Source = (queue) => {
    const life = scope()
    this.#isReading = false
    this.#begin = () => {
      if (!this.#isReading) void this.#readWhileAwaited(queue, life.signal)
    }
    if (this.#claims.size > 0) this.#begin()
    return () => {
      this.#begin = () => undefined
      life.abort(new CancelledError('the term has ended'))
    }
  }

  /** Records the objects that the claim waits for. Ignores cached objects, because their caches report changes. */
  await(uid: string, causes: readonly Cause[]): void {
    const awaited = causes.filter(({ on }) => RESOURCES.has(on))
    if (awaited.length === 0) this.#claims.delete(uid)
    else {
      this.#claims.set(uid, awaited)
      this.#begin()
    }
  }

  forget(uid: string): void {
    this.#claims.delete(uid)
  }

  async #readWhileAwaited(queue: Enqueuer, signal: AbortSignal): Promise<void> {
    this.#isReading = true
    while (this.#claims.size > 0 && !signal.aborted) {
      await this.#clock.sleep(PERIOD_MS, signal).catch(() => undefined)
      await Promise.all(this.#due().map(([cause, object]) => this.#read(cause, object, { queue, signal })))
    }
    // The loop ends and this changes in one step, so that a claim that begins to wait then starts a new loop.
    this.#isReading = false
  }

  /** Returns the objects that are due to be read again, the longest overdue first. */
  #due(): readonly (readonly [Cause, AwaitedObject])[] {
    const now = this.#clock.monotonic()
    const causes = new Map([...this.#claims.values()].flat().map((cause) => [`${cause.on} ${cause.name ?? ''}`, cause]))
    for (const id of this.#objects.keys()) if (!causes.has(id)) this.#objects.delete(id)
    const due: (readonly [Cause, AwaitedObject])[] = []
    for (const [id, cause] of causes) {
      const object = this.#objects.get(id) ?? { since: now, version: MISSING, dueAt: now }
      this.#objects.set(id, object)
      if (object.dueAt <= now) due.push([cause, object])
    }
    return due.sort(([, { dueAt }], [, other]) => dueAt - other.dueAt).slice(0, READS_PER_PERIOD)
  }

  async #read(
    cause: Cause,
    object: AwaitedObject,
    { queue, signal }: { readonly queue: Enqueuer; readonly signal: AbortSignal },
  ): Promise<void> {
    const version = await this.#versionOf(cause, signal)
    if (signal.aborted) return
    const now = this.#clock.monotonic()
    const pauseMs = Math.min((now - object.since) / PAUSES_IN_WAIT, LONGEST_PAUSE_MS)
    object.dueAt = now + Math.max(pauseMs, PERIOD_MS)
    if (version === undefined || version === object.version) return
    object.version = version
    queue.wake(cause)
  }

  /** Returns the UID and version of the object, `MISSING` after a 404, or undefined after another error. */
  async #versionOf({ on, name: key = '' }: Cause, signal: AbortSignal): Promise<string | undefined> {
    const resource = RESOURCES.get(on)
    if (resource === undefined) return undefined
    try {
      const { metadata } = await this.#api.get(resource, refOf(key), { signal, priority: 'low' })
      return `${metadata?.uid ?? ''}/${metadata?.resourceVersion ?? ''}`
    } catch (error) {
      return isAbort(error) || !isNotFound(error) ? undefined : MISSING
    }
  }
}
