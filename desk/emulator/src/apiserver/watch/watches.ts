import type { Clock } from '@csi-sidecars/base'
import type { FaultAction } from '../../faults/request-faults.ts'
import { refuseOptions } from '../codec/query-options.ts'
import type { AnswerForm } from '../codec/representation.ts'
import { ApiFailure } from '../http/api-failure.ts'
import type { HttpResponse } from '../http/exchange.ts'
import { FieldErrors } from '../http/field-errors.ts'
import { numberIn, revisionIn } from '../http/query.ts'
import type { ServedKind } from '../schema/kinds.ts'
import { type ListScope, listPage, scopeOf } from '../storage/list-page.ts'
import type { Store } from '../storage/store.ts'
import { WatchHub } from './watch-hub.ts'
import { type WatchLimits, type WatchRequest, WatchStream } from './watch-stream.ts'

/** A watch without `timeoutSeconds` ends after a random time between this value and twice this value. */
const MIN_TIMEOUT_MS = 30 * 60 * 1000

/** All open watches of the server. */
export class Watches {
  readonly #store: Store
  readonly #clock: Clock
  readonly #limits: WatchLimits
  readonly #hubs: ReadonlyMap<ServedKind, WatchHub>
  readonly #streams = new Map<WatchStream, ServedKind>()

  constructor(store: Store, clock: Clock, limits: WatchLimits) {
    this.#store = store
    this.#clock = clock
    this.#limits = limits
    this.#hubs = new Map([...store.collections].map((collection) => [collection.kind, new WatchHub(collection)]))
  }

  get size(): number {
    return this.#streams.size
  }

  /** Serves one watch until it ends. */
  async serve(response: HttpResponse, kind: ServedKind, request: WatchRequest): Promise<void> {
    const hub = this.#hubs.get(kind)
    if (hub === undefined) throw new RangeError(`no such kind: ${kind.kind}`)
    const stream = new WatchStream({
      response,
      hub,
      collection: this.#store.of(kind),
      request,
      clock: this.#clock,
      limits: this.#limits,
      revisionNow: () => this.#store.revision,
    })
    this.#streams.set(stream, kind)
    try {
      await stream.run()
    } finally {
      this.#streams.delete(stream)
    }
  }

  /** Ends all watches, or the watches of one kind. */
  drop(how: 'close' | 'cut', kind?: ServedKind): void {
    for (const [stream, of] of [...this.#streams]) {
      if (kind === undefined || kind === of) stream.end(how)
    }
  }

  /** Reads the parameters of a watch. Throws if kube-apiserver would refuse them. */
  requestOf(
    kind: ServedKind,
    deps: {
      namespace: string | undefined
      name: string | undefined
      query: URLSearchParams
      shape: AnswerForm
    },
    fault: FaultAction | undefined,
  ): WatchRequest {
    const query = withName(deps.query, deps.name)
    const scope = scopeOf(kind, deps.namespace, query)
    const asked = query.get('resourceVersion') ?? ''
    const bookmarks = query.get('allowWatchBookmarks') === 'true'
    const initialEvents = initialEventsOf(query)
    const fresh = initialEvents ?? (asked === '' || asked === '0')
    const from = fresh || asked === '' ? this.#store.revision : watchedFrom(asked)
    const seconds = numberIn(query, 'timeoutSeconds') ?? 0
    return {
      matches: scope.matches,
      initial: fresh ? this.#initial(kind, scope) : undefined,
      from,
      bookmarks,
      markInitialEnd: bookmarks && initialEvents === true,
      timeoutMs: seconds > 0 ? seconds * 1000 : MIN_TIMEOUT_MS * (1 + this.#clock.random()),
      shape: deps.shape,
      fault: fault?.kind === 'endWatch' ? fault : undefined,
    }
  }

  #initial(kind: ServedKind, scope: ListScope): WatchRequest['initial'] {
    const collection = this.#store.of(kind)
    return listPage(collection, scope, { revision: this.#store.revision, query: new URLSearchParams() }).entries
  }
}

/** Reads the version of a watch. As in kube-apiserver, a version that is not a number causes an internal error. */
function watchedFrom(asked: string): number {
  try {
    return revisionIn(asked)
  } catch (cause) {
    throw Object.assign(new ApiFailure('', (cause as Error).message), { cause })
  }
}

/** Adds a selector for the name to the query, because the path of a watch may name one object. */
function withName(query: URLSearchParams, name: string | undefined): URLSearchParams {
  if (name === undefined) return query
  const copy = new URLSearchParams(query)
  const fieldSelector = copy.get('fieldSelector')
  copy.set(
    'fieldSelector',
    `${fieldSelector === null || fieldSelector === '' ? '' : `${fieldSelector},`}metadata.name=${name}`,
  )
  return copy
}

function initialEventsOf(query: URLSearchParams): boolean | undefined {
  const asked = query.get('sendInitialEvents') ?? ''
  const match = query.get('resourceVersionMatch') ?? ''
  const field = 'resourceVersionMatch'
  const errors = new FieldErrors()
  if (asked === '' && match !== '') {
    errors.forbidden(field, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided')
  }
  if (asked !== '' && match !== 'NotOlderThan') {
    errors.forbidden(field, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan')
  }
  refuseOptions('ListOptions', errors)
  return asked === '' ? undefined : asked === 'true'
}
