import { ApiFailure, badRequest, expired } from '../http/api-failure.ts'
import { numberIn, revisionIn } from '../http/query.ts'
import { objectAt } from '../schema/json.ts'
import type { ServedKind } from '../schema/kinds.ts'
import type { KindCollection, StoredEntry } from './collection.ts'
import { fieldSelector, labelSelector, type Predicate } from './selectors.ts'

/** The objects of a kind that a request selects. */
export interface ListScope {
  readonly matches: Predicate
  /** The key of the object if the request selects one object by its name. Otherwise undefined. */
  readonly key: string | undefined
  /** The prefix of all selected keys: `NAMESPACE/`, or empty for all namespaces. */
  readonly prefix: string
  /** True if the request has selectors. The answer then has no `remainingItemCount`. */
  readonly selective: boolean
}

/** One page of a list, and the token of the next page. */
export interface ListedPage {
  readonly entries: readonly Pick<StoredEntry, 'object' | 'text'>[]
  readonly revision: number
  readonly next: string | undefined
  readonly remainingItemCount: number | undefined
}

export function scopeOf(kind: ServedKind, namespace: string | undefined, query: URLSearchParams): ListScope {
  const labels = labelSelector(query.get('labelSelector') ?? '')
  const fields = fieldSelector(kind, query.get('fieldSelector') ?? '')
  const prefix = namespace === undefined ? '' : `${namespace}/`
  const matches: Predicate = (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    fields.matches(object) &&
    labels((objectAt(object, 'metadata', 'labels') as Record<string, string> | undefined) ?? {})
  const single = fields.name !== undefined && (!kind.namespaced || namespace !== undefined)
  const selective = (query.get('labelSelector') ?? '') !== '' || (query.get('fieldSelector') ?? '') !== ''
  return { matches, prefix, selective, key: single ? prefix + fields.name : undefined }
}

/** The position at which a list continues: the last key of the previous page, and the revision of all pages. */
interface Continue {
  readonly revision: number
  readonly after: string
}

const EXPIRED_TOKEN =
  'The provided continue parameter is too old to display a consistent list result. ' +
  'You can start a new list without the continue parameter, or use the continue token in this response to retrieve the ' +
  'remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, ' +
  'modified, or deleted between the time the first chunk was returned and now may show up in the list.'

/** Returns all entries of a list, or one page. All pages show the list at the time of the first page. */
export function listPage(
  collection: KindCollection,
  scope: ListScope,
  { revision, query }: { readonly revision: number; readonly query: URLSearchParams },
): ListedPage {
  const limit = numberIn(query, 'limit') ?? 0
  const token = query.get('continue') ?? ''
  const asked = query.get('resourceVersion') ?? ''
  if (token !== '') {
    if (asked !== '' && asked !== '0') {
      throw badRequest('specifying resource version is not allowed when using continue')
    }
    const from = readContinue(token, revision)
    return page(collection, scope, { ...from, limit })
  }
  checkReadVersion(revision, query)
  const exact = query.get('resourceVersionMatch') === 'Exact' ? revisionIn(asked) : undefined
  return page(collection, scope, { revision: exact ?? revision, after: undefined, limit, inexact: exact === undefined })
}

/** Throws a time-out error if the requested `resourceVersion` does not exist yet. */
export function checkReadVersion(current: number, query: URLSearchParams): void {
  const asked = query.get('resourceVersion') ?? ''
  if (asked === '' || revisionIn(asked) <= current) return
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }]
  const message = `Too large resource version: ${asked}, current: ${current}`
  throw new ApiFailure('Timeout', message, { details: { causes, retryAfterSeconds: 1 } })
}

interface PageRequest {
  readonly revision: number
  readonly after: string | undefined
  readonly limit: number
  /** True if the page shows the current objects, and not their state at `revision`. */
  readonly inexact?: boolean
}

function page(collection: KindCollection, scope: ListScope, request: PageRequest): ListedPage {
  const then = request.inexact === true ? NOTHING : differences(collection, request)
  const entries: StoredEntry[] = []
  let remainingItemCount = 0
  for (const key of keysOf(collection, scope, { then, after: request.after })) {
    const entry = then.has(key) ? then.get(key) : collection.get(key)
    if (entry === undefined || !scope.matches(entry.object)) continue
    if (request.limit === 0 || entries.length < request.limit) entries.push(entry)
    else remainingItemCount += 1
  }
  const last = entries.at(-1)
  if (remainingItemCount === 0 || last === undefined) {
    return { entries, revision: request.revision, next: undefined, remainingItemCount: undefined }
  }
  const next = writeContinue({ revision: request.revision, after: last.key })
  return {
    entries,
    revision: request.revision,
    next,
    remainingItemCount: scope.selective ? undefined : remainingItemCount,
  }
}

const NOTHING: ReadonlyMap<string, StoredEntry | undefined> = new Map()

function differences(collection: KindCollection, request: PageRequest): ReadonlyMap<string, StoredEntry | undefined> {
  if (request.revision < collection.compactedRevision) {
    if (request.after === undefined) {
      throw expired(`The provided resource version is too old to display a consistent list result.`)
    }
    throw expired(EXPIRED_TOKEN, { continue: writeContinue({ revision: -1, after: request.after }) })
  }
  return collection.differencesAt(request.revision)
}

function* keysOf(
  collection: KindCollection,
  scope: ListScope,
  { then, after }: { readonly then: ReadonlyMap<string, StoredEntry | undefined>; readonly after: string | undefined },
): Generator<string> {
  if (scope.key !== undefined) {
    if (after === undefined || after < scope.key) yield scope.key
    return
  }
  const start = after === undefined || after < scope.prefix ? scope.prefix : after
  const gone = [...then.keys()].filter((key) => collection.get(key) === undefined && key > start).sort()
  let next = 0
  for (const key of collection.keysAfter(start)) {
    if (!key.startsWith(scope.prefix)) break
    for (; next < gone.length && (gone[next] as string) < key; next += 1) yield gone[next] as string
    yield key
  }
  yield* gone.slice(next)
}

function writeContinue(from: Continue): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: from.revision, start: from.after })).toString(
    'base64url',
  )
}

/** Reads a continue token. The token in a 410 has revision -1, which requests the rest of the current list. */
function readContinue(token: string, now: number): Continue {
  try {
    const read: unknown = JSON.parse(Buffer.from(token, 'base64url').toString())
    const { v, rv, start } = read as Record<string, unknown>
    if (v === 'meta.k8s.io/v1' && typeof rv === 'number' && typeof start === 'string') {
      return { revision: rv === -1 ? now : rv, after: start }
    }
  } catch {
    // The error below refuses a token that is not JSON.
  }
  throw badRequest('continue key is not valid: invalid continue token')
}
