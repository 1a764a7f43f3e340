import { type Clock, messageOf } from '@csi-sidecars/base'

/** The limits of one listing. A driver that exceeds them would probably send pages without end. */
const MAX_EMPTY_PAGES = 1_000
const MAX_ENTRIES = 1_000_000
const MAX_LISTING_MS = 5 * 60_000

interface ListPage<E> {
  readonly entries: readonly E[]
  readonly nextToken: string
}

/** How a listing of many pages is read. */
export interface ListPagesOptions<E> {
  /** The texts of error messages: the method, such as `ListVolumes`, and the listed things, such as `volumes`. */
  readonly method: string
  readonly nouns: string
  /** Reads one page. Each page has a separate deadline, so that a listing of many pages can succeed. */
  readonly readPage: (startingToken: string) => Promise<ListPage<E>>
  readonly visit: (entry: E) => void
  readonly clock: Pick<Clock, 'monotonic'>
}

/**
 * Reads all pages of a listing, and returns the number of entries. Throws if a page fails, or if the driver sends pages
 * without end: a caller must not act on a part of a listing.
 */
export async function listPages<E>({ method, nouns, readPage, visit, clock }: ListPagesOptions<E>): Promise<number> {
  const started = clock.monotonic()
  const seen = new Set<string>()
  let token = ''
  let count = 0
  let emptyPages = 0
  for (;;) {
    const page = await readPage(token).catch((cause: unknown) => {
      throw new Error(`failed to ${method}: failed to list ${nouns}: ${messageOf(cause)}`, { cause })
    })
    for (const entry of page.entries) visit(entry)
    count += page.entries.length
    emptyPages = page.entries.length === 0 ? emptyPages + 1 : 0
    seen.add(token)
    token = page.nextToken
    if (token === '') return count
    const why = endless({
      nouns,
      token,
      count,
      emptyPages,
      isRepeated: seen.has(token),
      ms: clock.monotonic() - started,
    })
    if (why !== undefined) throw new Error(`failed to ${method}: ${why}`)
  }
}

interface Progress extends Pick<ListPagesOptions<unknown>, 'nouns'> {
  readonly token: string
  /** True if the page token leads back to an earlier page. */
  readonly isRepeated: boolean
  readonly count: number
  readonly emptyPages: number
  readonly ms: number
}

/** Returns why the listing would never end. Undefined if it may end. */
function endless({ nouns, token, isRepeated, count, emptyPages, ms }: Progress): string | undefined {
  if (isRepeated) return `the driver answered token ${JSON.stringify(token)} with itself`
  if (emptyPages >= MAX_EMPTY_PAGES) {
    return `the driver still returns pages after ${emptyPages} pages without a ${nouns.replace(/s$/, '')}`
  }
  if (count > MAX_ENTRIES) return `the driver still returns pages after ${count} ${nouns}`
  if (ms <= MAX_LISTING_MS) return undefined
  return `the listing has not ended after ${MAX_LISTING_MS / 60_000} minutes and ${count} ${nouns}`
}
