import { aborted, type Cancel, type Clock } from '@csi-sidecars/base'
import type { WatchEnd } from '../../faults/request-faults.ts'
import { frameBytes, statusBytes } from '../codec/protobuf/envelope.ts'
import { type AnswerForm, renderObject } from '../codec/representation.ts'
import { ApiFailure, expired } from '../http/api-failure.ts'
import type { HttpResponse } from '../http/exchange.ts'
import { completed } from '../schema/typed.ts'
import type { KindCollection, StoredChange, StoredEntry } from '../storage/collection.ts'
import { unstored } from '../storage/registry.ts'
import type { Predicate } from '../storage/selectors.ts'
import { type FrameType, frameText, type WatchEvent, type WatchHub } from './watch-hub.ts'

/** The objects and the form that a watch requests. */
export interface WatchRequest {
  readonly matches: Predicate
  /** The objects to send first as ADDED. Undefined if the watch continues from a revision. */
  readonly initial: readonly Pick<StoredEntry, 'object' | 'text'>[] | undefined
  /** The revision after which the watch sends changes. */
  readonly from: number
  readonly bookmarks: boolean
  /** True if a bookmark marks the end of the initial objects. */
  readonly markInitialEnd: boolean
  readonly timeoutMs: number
  readonly shape: AnswerForm
  readonly fault?: { readonly afterFrames?: number; readonly afterMs?: number; readonly how?: WatchEnd } | undefined
}

/** The time limits of a watch, in milliseconds. */
export interface WatchLimits {
  readonly bookmarkMs: number
  /** A client that does not read for this time is disconnected. */
  readonly stallMs: number
}

interface WatchParts {
  readonly response: HttpResponse
  readonly collection: KindCollection
  readonly hub: WatchHub
  readonly request: WatchRequest
  readonly clock: Clock
  readonly limits: WatchLimits
  readonly revisionNow: () => number
}

/** The broken event that the injected fault `garbage` sends before the end of the watch. */
const GARBAGE_TEXT = '{"type":"MODIFIED","object":{"meta\n'
const GARBAGE_BYTES = Buffer.from([0, 0, 0, 4, 0x0a, 0x7f, 0x4d, 0x4f])

/**
 * One open watch. While its socket is full, it sends nothing. Later it sends the missed changes from the history, so a
 * slow client needs no queue in the server.
 */
export class WatchStream {
  readonly #deps: WatchParts
  readonly #response: HttpResponse
  readonly #request: WatchRequest
  readonly #cancels: Cancel[] = []
  readonly #ended = new AbortController()
  #cancelBookmark: Cancel = () => undefined
  #position: number
  #frames = 0
  #silent = false
  #live = false

  constructor(deps: WatchParts) {
    this.#deps = deps
    this.#response = deps.response
    this.#request = deps.request
    this.#position = deps.request.from
  }

  /** Runs the watch until the client or the server ends it. */
  async run(): Promise<void> {
    const { timeoutMs, fault } = this.#request
    this.#response.on('close', () => this.#finish())
    this.#cancels.push(this.#deps.clock.schedule(timeoutMs, () => this.end('close')))
    if (fault?.afterMs !== undefined)
      this.#cancels.push(this.#deps.clock.schedule(fault.afterMs, () => this.end(fault.how)))
    if (fault?.afterFrames === 0) this.end(fault.how)
    try {
      await this.#showInitial()
      this.#scheduleBookmark()
      while (!this.#over) {
        await this.#catchUp()
        if (!this.#over) await this.#follow()
      }
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error
      this.#write(this.#errorFrame(error))
      this.end('close')
    }
  }

  end(how: WatchEnd = 'close'): void {
    if (this.#over) return
    switch (how) {
      case 'silent':
        this.#silent = true
        return
      case 'cut':
        this.#response.destroy()
        break
      case 'expired':
        this.#response.end(this.#errorFrame(expired('too old resource version: 0 (1)')))
        break
      case 'garbage':
        this.#response.end(this.#request.shape.as === 'message' ? GARBAGE_BYTES : GARBAGE_TEXT)
        break
      case 'close':
        this.#response.end()
        break
    }
    this.#finish()
  }

  get #over(): boolean {
    return this.#ended.signal.aborted
  }

  #finish(): void {
    for (const cancel of this.#cancels.splice(0)) cancel()
    this.#cancelBookmark()
    this.#ended.abort()
  }

  async #showInitial(): Promise<void> {
    const { initial, markInitialEnd } = this.#request
    if (initial === undefined) return
    for (const entry of initial) {
      if (this.#over) return
      if (!this.#write(this.#rendered('ADDED', entry))) await this.#drained()
    }
    if (markInitialEnd) this.#bookmark(this.#position, true)
  }

  /** Sends the changes from the history that the client does not have yet. */
  async #catchUp(): Promise<void> {
    for (let behind = this.#behind(); behind.length > 0 && !this.#over; behind = this.#behind()) {
      for (const change of behind) {
        if (this.#over) return
        let flowing = true
        this.#deps.hub.replay(change, this.#request.matches, (event) => {
          flowing = this.#show(event)
        })
        this.#position = change.revision
        if (!flowing) await this.#drained()
      }
    }
  }

  #behind(): readonly StoredChange[] {
    return this.#deps.collection.since(this.#position)
  }

  /** Sends changes as they happen, until the socket is full or the watch ends. */
  async #follow(): Promise<void> {
    const full = Promise.withResolvers<void>()
    const leave = this.#deps.hub.add(this.#request.matches, (event) => {
      this.#position = event.revision
      if (this.#show(event)) return
      leave()
      full.resolve()
    })
    this.#live = true
    await Promise.race([full.promise, aborted(this.#ended.signal)])
    this.#live = false
    leave()
    if (!this.#over) await this.#drained()
  }

  /** Sends an event. Watches of whole objects share its bytes; tables are created for each watch. */
  #show({ type, entry, frame, message }: WatchEvent): boolean {
    const { as } = this.#request.shape
    if (as === 'object') return this.#write(frame())
    return this.#write(as === 'message' ? message() : this.#rendered(type, entry))
  }

  #rendered(type: FrameType | 'BOOKMARK', entry: Pick<StoredEntry, 'object' | 'text'>): Buffer {
    const rendering = { shape: this.#request.shape, now: this.#deps.clock.now() }
    const object = renderObject(this.#deps.collection.kind, entry, { ...rendering, header: this.#frames === 0 })
    return typeof object === 'string' ? Buffer.from(frameText(type, object)) : frameBytes(type, object)
  }

  #errorFrame(failure: ApiFailure): Buffer {
    const status = failure.status()
    if (this.#request.shape.as === 'message') return frameBytes('ERROR', statusBytes(status))
    return Buffer.from(frameText('ERROR', JSON.stringify(status)))
  }

  /** Writes the bytes of an event. Returns false if the socket is full. */
  #write(frame: Buffer): boolean {
    if (this.#over || this.#silent) return true
    const flowing = this.#response.write(frame)
    this.#frames += 1
    const { fault } = this.#request
    if (fault?.afterFrames !== undefined && this.#frames >= fault.afterFrames) this.end(fault.how)
    return flowing
  }

  async #drained(): Promise<void> {
    if (this.#over || !this.#response.writableNeedDrain) return
    const drained = Promise.withResolvers<void>()
    const onDrain = (): void => drained.resolve()
    this.#response.once('drain', onDrain)
    const cancel = this.#deps.clock.schedule(this.#deps.limits.stallMs, () => this.end('cut'))
    await Promise.race([drained.promise, aborted(this.#ended.signal)])
    this.#response.off('drain', onDrain)
    cancel()
  }

  #scheduleBookmark(): void {
    if (!this.#request.bookmarks || this.#over) return
    this.#cancelBookmark = this.#deps.clock.schedule(this.#deps.limits.bookmarkMs, () => {
      // A bookmark must not overtake changes that wait for the socket.
      if (this.#live) this.#bookmark(this.#deps.revisionNow(), false)
      this.#scheduleBookmark()
    })
  }

  #bookmark(revision: number, initialEnd: boolean): void {
    const { kind } = this.#deps.collection
    const annotations = initialEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}
    const metadata = { resourceVersion: String(revision), ...annotations }
    const object = completed(kind, { metadata })
    this.#write(this.#rendered('BOOKMARK', unstored(object)))
  }
}
