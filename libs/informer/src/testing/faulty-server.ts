import type { Clock } from '@csi-sidecars/base'
import {
  ApiError,
  type ChangeFrame,
  type KubeClient,
  type ListOptions,
  type ListPage,
  type Projecting,
  type WatchFrame,
  type WatchOptions,
} from '@csi-sidecars/kube-client'
import type { KubeObject } from '@csi-sidecars/kube-types'

/** An object of the only resource that `FaultyServer` serves. */
export interface Thing extends KubeObject {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string }
  readonly value: number
}

interface Change {
  readonly version: number
  readonly frame: ChangeFrame<Thing>
}

/** The clock, the source of faults and the abilities of a `FaultyServer`. Equal random numbers repeat all faults. */
export interface FaultyServerOptions {
  readonly clock: Clock
  /** Returns a number from 0 (included) to 1 (excluded). It decides every fault. */
  random(): number
  /** True if the server supports streaming lists. */
  readonly streams: boolean
}

const unreachable = (): ApiError => new ApiError({ code: 0, reason: '', message: 'connection refused' })
const refusal = (code: number, reason: string, retryAfterMs?: number): ApiError =>
  new ApiError({ code, reason, message: reason, retryAfterMs })
const gone = (): ApiError => refusal(410, 'Expired')

/**
 * An in-memory API server for one resource, with compaction, expiring pages, and random failures of requests and
 * streams. `objects` is the true state. Answers may be late, repeated or cut off, but never wrong.
 */
export class FaultyServer {
  readonly objects = new Map<string, Thing>()
  readonly #options: FaultyServerOptions
  readonly #history: Change[] = []
  readonly #streams = new Set<() => void>()
  #version = 100
  #compacted = 100
  #uids = 0
  /** Requests and streams fail at random while this is true. */
  faulty = true
  /** Open watches deliver no events while this is true, as if a proxy delayed them. */
  mute = false
  #down = false

  constructor(options: FaultyServerOptions) {
    this.#options = options
  }

  /** The resource version of the last change. */
  get version(): number {
    return this.#version
  }

  /** Creates or updates an object. Returns the object, as the answer to a write contains it. */
  upsert(name: string): Thing {
    const before = this.objects.get(name)
    this.#version += 1
    this.#uids += before === undefined ? 1 : 0
    const uid = before?.metadata.uid ?? `uid-${this.#uids}`
    const object: Thing = { metadata: { name, uid, resourceVersion: `${this.#version}` }, value: this.#version }
    this.objects.set(name, object)
    this.#record({ type: before === undefined ? 'ADDED' : 'MODIFIED', object })
    return object
  }

  delete(name: string): void {
    const before = this.objects.get(name)
    if (before === undefined) return
    this.#version += 1
    this.objects.delete(name)
    const metadata = { ...before.metadata, resourceVersion: `${this.#version}` }
    this.#record({ type: 'DELETED', object: { ...before, metadata } })
  }

  /** Sends a frame to every watch without changing an object. */
  send(frame: ChangeFrame<Thing>): void {
    this.#version += 1
    this.#record(frame)
  }

  /** Discards the history, so that a client that has missed changes must list. */
  compact(): void {
    this.#compacted = this.#version
  }

  /** Cuts every stream, and refuses all requests for `ms` milliseconds. */
  restart(ms: number): void {
    this.#down = true
    this.#options.clock.schedule(ms, () => {
      this.#down = false
    })
    this.#wake()
  }

  readonly client = {
    list: <P>(_: unknown, options: ListOptions & Projecting<Thing, P>) => this.#list(options),
    watch: (_: unknown, options: WatchOptions) => this.#watch(options),
  } as unknown as KubeClient

  async *#list<P>({ pageSize, project, signal }: ListOptions & Projecting<Thing, P>): AsyncGenerator<ListPage<P>> {
    const version = this.#version
    const objects = [...this.objects.values()]
    const size = pageSize === 0 || pageSize === undefined ? Math.max(1, objects.length) : pageSize
    let from = 0
    do {
      await this.#delay(signal)
      this.#refuse()
      if (from > 0 && version < this.#compacted) throw gone()
      const items: P[] = []
      for (const object of objects.slice(from, from + size)) {
        const projected = project(object)
        if (projected !== undefined) items.push(projected)
      }
      from += size
      yield { items, resourceVersion: `${version}`, continue: from < objects.length ? `${from}` : undefined }
    } while (from < objects.length)
  }

  async *#watch(options: WatchOptions): AsyncGenerator<WatchFrame<Thing>> {
    await this.#delay(options.signal)
    this.#refuse()
    if (options.sendInitialEvents && !this.#options.streams) throw refusal(422, 'Invalid')
    let seen = options.sendInitialEvents ? this.#version : Number(options.resourceVersion)
    if (seen < this.#compacted) throw gone()
    if (options.sendInitialEvents) {
      const objects = [...this.objects.values()]
      for (const object of objects) yield* this.#faults({ type: 'ADDED', object }, options)
      yield { type: 'BOOKMARK', resourceVersion: `${seen}`, initialEventsEnd: true }
    }
    for (;;) {
      if (this.#down) return yield { type: 'END', why: 'broken', error: unreachable() }
      const change = this.mute ? undefined : this.#history.find(({ version }) => version > seen)
      if (change === undefined) {
        if (this.#chance(0.1)) yield { type: 'BOOKMARK', resourceVersion: `${this.#version}`, initialEventsEnd: false }
        await this.#nextChange(options.signal)
        continue
      }
      if (change.version <= this.#compacted && this.#chance(0.2))
        return yield { type: 'END', why: 'error', error: gone() }
      const end = this.#end()
      if (end !== undefined) return yield end
      seen = change.version
      yield* this.#faults(change.frame, options)
    }
  }

  /** Yields a frame, sometimes late and sometimes twice. */
  async *#faults(frame: ChangeFrame<Thing>, { signal, onActivity }: WatchOptions): AsyncGenerator<WatchFrame<Thing>> {
    if (this.#chance(0.3)) await this.#delay(signal)
    onActivity?.()
    yield frame
    if (this.#chance(0.1)) yield frame
  }

  #end(): WatchFrame<Thing> | undefined {
    if (!this.#chance(0.08)) return undefined
    const ends = [
      { why: 'closed' },
      { why: 'broken', error: unreachable() },
      { why: 'silent' },
      { why: 'badFrame' },
      { why: 'error', error: gone() },
      { why: 'error', error: refusal(500, 'InternalError') },
      { why: 'error', error: refusal(429, 'TooManyRequests', 2000) },
    ] as const
    const end = ends[Math.floor(this.#options.random() * ends.length)]
    return end && { type: 'END', ...end }
  }

  #refuse(): void {
    if (this.#down) throw unreachable()
    if (!this.#chance(0.2)) return
    const errors = [unreachable(), refusal(503, 'ServiceUnavailable'), refusal(429, 'TooManyRequests', 1000), gone()]
    throw errors[Math.floor(this.#options.random() * errors.length)]
  }

  #chance(share: number): boolean {
    return this.faulty && this.#options.random() < share
  }

  #delay(signal: AbortSignal | undefined): Promise<void> {
    return this.#options.clock.sleep(this.faulty ? this.#options.random() * 50 : 0, signal)
  }

  #record(frame: ChangeFrame<Thing>): void {
    this.#history.push({ version: this.#version, frame })
    this.#wake()
  }

  #wake(): void {
    for (const wake of this.#streams) wake()
    this.#streams.clear()
  }

  #nextChange(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#streams.add(resolve)
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }
}
