import { CancelledError, type Clock, isAbort, scope } from '@csi-sidecars/base'
import type { Cause, Enqueuer, Source } from '@csi-sidecars/controller'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import {
  type KubeObject,
  type Resource,
  SECRETS,
  VOLUME_ATTRIBUTES_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'

/** The objects that claims wait for and no cache holds, because roles of provisioners may only get them. */
const RESOURCES: ReadonlyMap<string, Resource<KubeObject>> = new Map<string, Resource<KubeObject>>([
  ['secret', SECRETS],
  ['snapshot', VOLUME_SNAPSHOTS],
  ['snapshotContent', VOLUME_SNAPSHOT_CONTENTS],
  ['attributesClass', VOLUME_ATTRIBUTES_CLASSES],
])

/** A waiting claim continues within a second. */
const PERIOD_MS = 700
/** More objects are read in turns. */
const READS_PER_PERIOD = 20
const MISSING = ''

/**
 * Reads the objects that claims wait for, as long as claims wait, and wakes them at each change. The reads have low
 * priority. Each object is read once for all claims that wait for it.
 */
export class AwaitedObjects {
  readonly #api: Pick<KubeClient, 'get'>
  readonly #clock: Clock
  /** The causes of each claim. */
  readonly #claims = new Map<string, readonly Cause[]>()
  /** The last version of each object; the object that was read longest ago comes first. */
  readonly #versions = new Map<string, string>()
  #begin: () => void = () => undefined

  constructor(api: Pick<KubeClient, 'get'>, clock: Clock) {
    this.#api = api
    this.#clock = clock
  }

  readonly source: Source = (queue) => {
    const life = scope()
    let running = false
    this.#begin = () => {
      if (running) return
      running = true
      void this.#readWhileAwaited(queue, life.signal).finally(() => {
        running = false
      })
    }
    if (this.#claims.size > 0) this.#begin()
    return () => {
      this.#begin = () => undefined
      life.abort(new CancelledError('the term has ended'))
    }
  }

  /** The claim waits for these objects from now on. Causes that caches report are ignored. */
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
    while (this.#claims.size > 0 && !signal.aborted) {
      await this.#clock.sleep(PERIOD_MS, signal).catch(() => undefined)
      const causes = new Map([...this.#claims.values()].flat().map((cause) => [idOf(cause), cause]))
      for (const id of this.#versions.keys()) if (!causes.has(id)) this.#versions.delete(id)
      for (const id of causes.keys()) if (!this.#versions.has(id)) this.#versions.set(id, MISSING)
      const turn = [...this.#versions.keys()].slice(0, READS_PER_PERIOD)
      await Promise.all(turn.map((id) => this.#read(causes.get(id), queue, signal)))
    }
  }

  async #read(cause: Cause | undefined, queue: Enqueuer, signal: AbortSignal): Promise<void> {
    const resource = RESOURCES.get(cause?.on ?? '')
    if (cause === undefined || resource === undefined) return
    const id = idOf(cause)
    const before = this.#versions.get(id)
    const version = await this.#versionOf(resource, cause.name ?? '', signal)
    if (signal.aborted) return
    this.#versions.delete(id)
    this.#versions.set(id, version ?? before ?? MISSING)
    if (version !== undefined && version !== before) queue.wake(cause)
  }

  /** Undefined if it cannot be read now. */
  async #versionOf(resource: Resource<KubeObject>, key: string, signal: AbortSignal): Promise<string | undefined> {
    const slash = key.indexOf('/')
    const ref = slash === -1 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
    try {
      const { metadata } = await this.#api.get(resource, ref, { signal, priority: 'low' })
      return `${metadata?.uid ?? ''}/${metadata?.resourceVersion ?? ''}`
    } catch (error) {
      return isAbort(error) || !isNotFound(error) ? undefined : MISSING
    }
  }
}

function idOf({ on, name = '' }: Cause): string {
  return `${on} ${name}`
}
