import { abortable, Backoff, CancelledError, type Clock, type Scope, scope } from '@csi-sidecars/base'
import {
  ApiError,
  type BookmarkFrame,
  type ChangeFrame,
  type EndFrame,
  isForbidden,
  isUnreachable,
  type KubeClient,
} from '@csi-sidecars/kube-client'
import type { MessageReader, Resource } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { INITIAL_STATE, nextStep, type WatchReply, type WatchState } from './watch-state.ts'

/** The copy of the objects that a watcher keeps up to date. */
export interface Replica<W> {
  /** Begins a list, whose objects are collected separately from the current state. */
  beginList(): void
  /** Adds an object of a list, or a change during a streaming list. */
  collectListed(frame: ChangeFrame<W>): void
  /** Called when the list is complete. The collected objects become the current state. */
  commitList(resourceVersion: string): void | Promise<void>
  /** Applies a change to the current state. Returns its version, if any. */
  applyChange(frame: ChangeFrame<W>): string | undefined
  /** Called when all changes up to this version have been delivered. */
  advanceTo(resourceVersion: string): void
}

/** The objects that a watcher lists and watches. */
export interface WatcherOptions<W> {
  readonly client: Pick<KubeClient, 'list' | 'watch'>
  readonly resource: Resource<W>
  readonly namespace?: string | undefined
  readonly fieldSelector?: string | undefined
  readonly labelSelector?: string | undefined
  /** The number of objects in a page of a list. Default: 500. */
  readonly pageSize?: number | undefined
  readonly message?: MessageReader<W> | undefined
  /** True if a 403 is no missing permission. Default: false. */
  readonly optional?: boolean | undefined
  readonly replica: Replica<W>
  readonly clock: Clock
  readonly log: Logger
  /** Called with the error of a request before the pause after it. */
  readonly onFailure?: ((error: unknown) => void) | undefined
  /** Called whenever the server sends something. */
  onActivity(): void
}

/** A stream that ends within this time without a frame is opened again only after a pause. */
const MIN_STREAM_MS = 1000
/** A streaming list is given up after this time without a frame: the server probably does not support it. */
const MAX_SILENCE_BEFORE_MARK_MS = 10_000
/** A streaming list is given up after 60 s plus 0.2 ms for each object. Even a busy server is faster. */
const MAX_LIST_MS = 60_000
const EXTRA_MS_PER_OBJECT = 0.2
const FIRST_WAIT_MS = 800
const MAX_WAIT_MS = 30_000
/** The longest wait while the server is unreachable. It is short, so that the watcher soon finds the server again. */
const MAX_WAIT_UNREACHABLE_MS = 5_000
/** After this time without a failure the back-off begins with short waits again. */
const BACKOFF_RESET_MS = 120_000

/** Keeps a replica up to date with the requests that `next` chooses. Retries without limit. */
export class Watcher<W> {
  readonly #options: WatcherOptions<W>
  readonly #backoff: Backoff
  #waitedAt = Number.NEGATIVE_INFINITY
  #state: WatchState = INITIAL_STATE
  /** The request time of the list in the replica, and the request time of the running list. */
  #listedSince = Number.NEGATIVE_INFINITY
  #listBegan = Number.NEGATIVE_INFINITY
  /** The newest `since` that a caller has passed to `ensureListedSince`. */
  #requiredSince = Number.NEGATIVE_INFINITY
  #nextCommit = Promise.withResolvers<void>()
  /** The number of frames that the current stream has delivered. */
  #frames = 0
  /** Aborting this scope ends the current stream or pause. */
  #interruptible: Scope | undefined

  constructor(options: WatcherOptions<W>) {
    this.#options = options
    const { clock } = options
    this.#backoff = new Backoff({
      initialMs: FIRST_WAIT_MS,
      maxMs: MAX_WAIT_MS,
      jitter: 1,
      random: () => clock.random(),
    })
  }

  /** Runs until the signal is aborted, then rejects with the reason of the signal. */
  async run(signal: AbortSignal): Promise<never> {
    this.#state = INITIAL_STATE
    for (;;) {
      signal.throwIfAborted()
      const reply = await this.#listOrWatch(signal)
      this.#report(reply)
      if (isAnswered(reply)) this.#options.onActivity()
      const step = nextStep(this.#state, reply)
      this.#state = step.state
      if (!step.mustWait) continue
      if ('error' in reply) this.#options.onFailure?.(reply.error)
      await this.#wait(reply, signal)
    }
  }

  /** Resolves when the replica has a list that was requested at `since` or later. */
  async ensureListedSince(since: number, signal: AbortSignal): Promise<void> {
    this.#requiredSince = Math.max(this.#requiredSince, since)
    if (this.#needsNewerList) this.#interruptible?.abort(new CancelledError('a newer list is wanted'))
    while (this.#listedSince < since || this.#listedSince === Number.NEGATIVE_INFINITY) {
      await abortable(this.#nextCommit.promise, signal)
    }
  }

  /** True if the current watch must end, because a caller of `ensureListedSince` needs a newer list. */
  get #needsNewerList(): boolean {
    return this.#state.kind === 'watch' && this.#listedSince < this.#requiredSince
  }

  #listOrWatch(signal: AbortSignal): Promise<WatchReply> | WatchReply {
    if (this.#needsNewerList) return OUTDATED
    return this.#state.kind === 'pageList' ? this.#pageList(signal) : this.#stream(signal)
  }

  #beginList(): void {
    this.#listBegan = this.#options.clock.monotonic()
    this.#options.replica.beginList()
  }

  async #commitList(resourceVersion: string): Promise<void> {
    await this.#options.replica.commitList(resourceVersion)
    this.#listedSince = this.#listBegan
    this.#nextCommit.resolve()
    this.#nextCommit = Promise.withResolvers()
  }

  async #pageList(signal: AbortSignal): Promise<WatchReply> {
    const { client, resource, replica, onActivity } = this.#options
    const paged = this.#state.kind !== 'pageList' || this.#state.inPages
    const project = (object: W): undefined => replica.collectListed({ type: 'ADDED', object }) ?? undefined
    const pageSize = paged ? this.#options.pageSize : 0
    const options = { ...this.#selection, pageSize, signal, project }
    this.#beginList()
    try {
      let resourceVersion = ''
      for await (const page of client.list(resource, options)) {
        onActivity()
        resourceVersion = page.resourceVersion
      }
      await this.#commitList(resourceVersion)
      return { kind: 'listed', resourceVersion }
    } catch (error) {
      signal.throwIfAborted()
      return { kind: 'refused', error }
    }
  }

  async #stream(signal: AbortSignal): Promise<WatchReply> {
    const { client, clock, resource } = this.#options
    using streamScope = scope(signal)
    const listEnd = new ListEndTimeout(clock, streamScope, () => this.#frames)
    const openedAt = clock.monotonic()
    this.#frames = 0
    if (this.#state.kind === 'streamList') this.#beginList()
    else listEnd.cancel()
    this.#interruptible = streamScope
    try {
      for await (const frame of client.watch(resource, this.#watchOptions(streamScope.signal, listEnd))) {
        if (frame.type === 'END')
          return endedReply(frame, this.#frames === 0 && clock.monotonic() - openedAt < MIN_STREAM_MS)
        if (frame.type === 'BOOKMARK') await this.#bookmark(frame, listEnd)
        else this.#change(frame)
        if (this.#needsNewerList) return OUTDATED
      }
      return { kind: 'ended', why: 'closed', error: undefined, isBrief: true }
    } catch (error) {
      signal.throwIfAborted()
      if (this.#needsNewerList) return OUTDATED
      if (listEnd.hasExpired) return { kind: 'ended', why: 'unmarked', error: undefined, isBrief: false }
      return { kind: 'refused', error }
    } finally {
      listEnd.cancel()
    }
  }

  #watchOptions(signal: AbortSignal, listEnd: ListEndTimeout) {
    const from = this.#state.kind === 'watch' ? { resourceVersion: this.#state.from } : { sendInitialEvents: true }
    const onActivity = (): void => {
      listEnd.recordActivity()
      this.#options.onActivity()
    }
    const onChange = (change: ChangeFrame<W>): void => this.#change(change)
    return { ...this.#selection, signal, onActivity, onChange, ...from }
  }

  /** Returns the options that lists and watches have in common. */
  get #selection() {
    const { namespace, fieldSelector, labelSelector, message, optional } = this.#options
    return { namespace, fieldSelector, labelSelector, message, optional }
  }

  #change(change: ChangeFrame<W>): void {
    const { replica } = this.#options
    this.#frames += 1
    if (this.#state.kind === 'streamList') return replica.collectListed(change)
    const resourceVersion = replica.applyChange(change)
    if (resourceVersion !== undefined) this.#advance({ kind: 'seen', resourceVersion })
  }

  async #bookmark({ resourceVersion, initialEventsEnd }: BookmarkFrame, listEnd: ListEndTimeout): Promise<void> {
    this.#frames += 1
    if (this.#state.kind !== 'streamList') {
      this.#options.replica.advanceTo(resourceVersion)
      this.#advance({ kind: 'seen', resourceVersion })
    } else if (initialEventsEnd) {
      listEnd.cancel()
      await this.#commitList(resourceVersion)
      this.#advance({ kind: 'listed', resourceVersion })
    }
  }

  #advance(reply: WatchReply): void {
    this.#state = nextStep(this.#state, reply).state
  }

  async #wait(reply: WatchReply, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    if (clock.monotonic() - this.#waitedAt > BACKOFF_RESET_MS) this.#backoff.reset()
    const error = 'error' in reply && reply.error instanceof ApiError ? reply.error : undefined
    const maxMs = isUnreachable(error) ? MAX_WAIT_UNREACHABLE_MS : Number.POSITIVE_INFINITY
    using pause = scope(signal)
    this.#interruptible = pause
    // A long `Retry-After` must not stop a cache for an hour.
    const askedMs = Math.min(error?.retryAfterMs ?? 0, MAX_WAIT_MS)
    const ms = Math.max(askedMs, Math.min(this.#backoff.next(), maxMs))
    await clock.sleep(ms, pause.signal).catch((reason: unknown) => {
      if (!this.#needsNewerList) throw reason
    })
    this.#waitedAt = clock.monotonic()
  }

  #report(reply: WatchReply): void {
    const { log, resource, onFailure } = this.#options
    const pairs = { resource: resource.plural, at: this.#state.kind }
    if (reply.kind === 'refused') {
      // The watcher logs no missing permission, because the client has already logged it.
      if (isForbidden(reply.error)) return
      if (this.#state.kind === 'watch') log.v(2)?.info('Watch failed, backing off', { ...pairs, err: reply.error })
      else if (this.#state.kind === 'streamList')
        log.v(2)?.info('Streaming list failed', { ...pairs, err: reply.error })
      else if (onFailure === undefined) log.error(reply.error, 'Failed to list', { resource: resource.plural })
    } else if (reply.kind === 'ended') {
      log
        .v(4)
        ?.info('Watch closed', { ...pairs, why: reply.why, ...(reply.error !== undefined && { err: reply.error }) })
    }
  }
}

/** Aborts a streaming list that is silent or takes too long before the bookmark that marks its end. */
class ListEndTimeout {
  readonly #clock: Clock
  readonly #scope: Scope
  readonly #objects: () => number
  readonly #beganAt: number
  #heardAt: number
  #cancel: () => void
  hasExpired = false

  constructor(clock: Clock, scopeOfList: Scope, objects: () => number) {
    this.#clock = clock
    this.#scope = scopeOfList
    this.#objects = objects
    this.#beganAt = clock.monotonic()
    this.#heardAt = this.#beganAt
    this.#cancel = clock.schedule(MAX_SILENCE_BEFORE_MARK_MS, () => this.#check())
  }

  recordActivity(): void {
    this.#heardAt = this.#clock.monotonic()
  }

  /** Ends the check: the final bookmark has arrived, or the stream lists nothing. */
  cancel(): void {
    this.#cancel()
  }

  #check(): void {
    const maxListMs = MAX_LIST_MS + this.#objects() * EXTRA_MS_PER_OBJECT
    const until = Math.min(this.#heardAt + MAX_SILENCE_BEFORE_MARK_MS, this.#beganAt + maxListMs)
    const left = until - this.#clock.monotonic()
    if (left > 0) {
      this.#cancel = this.#clock.schedule(left, () => this.#check())
    } else {
      this.hasExpired = true
      this.#scope.abort(new CancelledError('the end of the streaming list was not marked'))
    }
  }
}

/** Reports whether the server answered with a refusal, which proves that it is reachable. */
function isAnswered(reply: WatchReply): boolean {
  return (
    reply.kind === 'refused' && reply.error instanceof ApiError && reply.error.code >= 400 && reply.error.code < 500
  )
}

const OUTDATED: WatchReply = { kind: 'ended', why: 'outdated', error: undefined, isBrief: false }

function endedReply({ why, error }: EndFrame, isBrief: boolean): WatchReply {
  return { kind: 'ended', why, error, isBrief }
}
