import { CancelledError, type Clock, isAbort, scope } from '@csi-sidecars/base'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { type KubeObject, type Resource, refOf } from '@csi-sidecars/kube-types'
import type { Enqueuer, Source } from './sources.ts'
import type { WakeEvent } from './wake-event.ts'

/** The objects that runs may wait for. */
export interface AwaitedObjectsOptions<K extends string = string> {
  readonly api: Pick<KubeClient, 'get'>
  readonly clock: Clock
  /** The resources of the objects, by the kind of the wake events. The name of an event is the key of the object. */
  readonly resources: Readonly<Record<K, Resource<KubeObject>>>
}

/** The shortest pause between two reads of an object. A key that has waited for a minute runs within a second. */
const MIN_PAUSE_MS = 700
/** An object is read again after a hundredth of the time that keys have waited for it. No user notices this delay. */
const WAIT_TO_PAUSE_RATIO = 100
const MAX_PAUSE_MS = 30_000
/** The maximum number of objects that are read in one period. If more must be read, they take turns. */
const MAX_READS_PER_PERIOD = 10
/** The version of an object that does not exist. */
const MISSING = ''

/**
 * Runs keys when an object that they wait for (`run.waitFor`) changes, although no cache holds the object. Published
 * roles of drivers allow only to read, for example, a Secret by its name, so the object is read again and again.
 *
 * Returns one source for the wakers of all kinds, which starts once. It shares its limit of requests between the kinds.
 *
 * Guarantees: an object is read only while a key waits for it, once for all its keys, with low priority. The pause between
 * its reads grows with the time of the wait, from 0.7 to 30 seconds. However many keys wait, at most ten requests are sent
 * in 0.7 seconds. A change is never missed: each key runs once for each version that appears while it waits, or that
 * appeared during the run that made it wait.
 *
 * Caveats: a key that begins to wait for an existing object runs once more, because the object may have changed since
 * the key's run read it.
 *
 * Errors: a failed read changes nothing. The object is read again after its pause.
 */
export function awaitedObjects<K extends string>(options: AwaitedObjectsOptions<K>): Readonly<Record<K, Source>> {
  const source: Source = (queue) => {
    const life = scope()
    const objects = new AwaitedObjects(options, queue, life.signal)
    const stop = queue.onWait((events) => objects.startReading(events))
    return () => {
      stop()
      life.abort(new CancelledError('the term has ended'))
    }
  }
  const sources = Object.keys(options.resources).map((kind) => [kind, source])
  // The type of `Object.fromEntries` does not keep the keys.
  return Object.fromEntries(sources) as Readonly<Record<K, Source>>
}

interface AwaitedObject {
  readonly event: WakeEvent
  readonly resource: Resource<KubeObject>
  /** When the first key began to wait, in monotonic milliseconds. */
  readonly since: number
  nextReadAt: number
  /** The last version of the object that each key has seen. Running keys stay, because they may wait again. */
  readonly versions: Map<string, string>
}

/** The objects that keys of one queue wait for. */
class AwaitedObjects {
  readonly #options: AwaitedObjectsOptions
  readonly #queue: Enqueuer
  readonly #signal: AbortSignal
  readonly #objects = new Map<string, AwaitedObject>()
  #isReading = false

  constructor(options: AwaitedObjectsOptions, queue: Enqueuer, signal: AbortSignal) {
    this.#options = options
    this.#queue = queue
    this.#signal = signal
  }

  /** Begins to read the objects of these events, if no cache reports them. */
  startReading(events: readonly WakeEvent[]): void {
    const now = this.#options.clock.monotonic()
    for (const event of events) {
      const id = `${event.kind} ${event.name ?? ''}`
      const resource = this.#options.resources[event.kind]
      if (resource === undefined || this.#objects.has(id)) continue
      this.#objects.set(id, { event, resource, since: now, nextReadAt: now, versions: new Map() })
    }
    if (this.#objects.size > 0 && !this.#isReading) void this.#readWhileAwaited()
  }

  async #readWhileAwaited(): Promise<void> {
    this.#isReading = true
    while (this.#objects.size > 0 && !this.#signal.aborted) {
      await this.#options.clock.sleep(MIN_PAUSE_MS, this.#signal).catch(() => undefined)
      if (this.#signal.aborted) return
      await Promise.all(this.#objectsToRead().map((object) => this.#read(object)))
    }
    // The loop ends and this changes in one step, so that a key that begins to wait then starts a new loop.
    this.#isReading = false
  }

  /** Returns the objects to read now, the longest overdue first. Forgets the objects that no key waits for. */
  #objectsToRead(): readonly AwaitedObject[] {
    const now = this.#options.clock.monotonic()
    const overdue: AwaitedObject[] = []
    for (const [id, object] of this.#objects) {
      const waiting = this.#queue.keysWaitingFor(object.event)
      // A key in work may wait for the object again. It must not run again for a version that it has seen.
      for (const key of object.versions.keys())
        if (!waiting.has(key) && !this.#queue.isInWork(key)) object.versions.delete(key)
      if (waiting.size === 0 && object.versions.size === 0) this.#objects.delete(id)
      else if (waiting.size > 0 && object.nextReadAt <= now) overdue.push(object)
    }
    return overdue.sort((a, b) => a.nextReadAt - b.nextReadAt).slice(0, MAX_READS_PER_PERIOD)
  }

  async #read(object: AwaitedObject): Promise<void> {
    const version = await this.#versionOf(object)
    if (this.#signal.aborted) return
    const now = this.#options.clock.monotonic()
    const pauseMs = Math.min((now - object.since) / WAIT_TO_PAUSE_RATIO, MAX_PAUSE_MS)
    object.nextReadAt = now + Math.max(pauseMs, MIN_PAUSE_MS)
    if (version !== undefined) this.#runKeys(object, version)
  }

  /** Runs the waiting keys for which the version is new. */
  #runKeys({ event, versions }: AwaitedObject, version: string): void {
    for (const key of this.#queue.keysWaitingFor(event)) {
      if ((versions.get(key) ?? MISSING) !== version) {
        this.#queue.resetBackoff(key)
        this.#queue.add(key)
      }
      versions.set(key, version)
    }
  }

  /** Returns the UID and version, `MISSING` after a 404, or undefined after another error. */
  async #versionOf({ resource, event: { name = '' } }: AwaitedObject): Promise<string | undefined> {
    try {
      const { metadata } = await this.#options.api.get(resource, refOf(name), { signal: this.#signal, priority: 'low' })
      return `${metadata?.uid ?? ''}/${metadata?.resourceVersion ?? ''}`
    } catch (error) {
      return isAbort(error) || !isNotFound(error) ? undefined : MISSING
    }
  }
}
