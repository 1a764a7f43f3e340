/** A search of one sidecar in the back end, as `/debug/unreferenced` reports it. */
export interface Search {
  readonly driver: string
  readonly kind: string
  /** `backend`: the things of other clusters count, too. */
  readonly scope: string
  readonly listedAt: string | undefined
  readonly listed: number
  readonly undecided: number
  readonly undecidedBecause: string | undefined
  readonly omitted: number
  readonly failure: string | undefined
}

/** A thing in the back end without an object, or an object without a thing in the back end. */
export interface Thing {
  readonly driver: string
  readonly kind: string
  readonly reason: string
  readonly handle: string
  readonly object: { readonly kind: string; readonly name: string } | undefined
  readonly sizeBytes: number | undefined
  readonly since: string | undefined
  readonly publishedNodes: number | undefined
  readonly sourceVolume: string | undefined
}

/** The page /debug/unreferenced of one process. */
export interface UnreferencedPage {
  readonly searches: readonly Search[]
  readonly items: readonly Thing[]
}

/** Reads a page, or returns undefined. Checks each field, because the proxy may reach any program. */
export function unreferencedPage(answer: unknown): UnreferencedPage | undefined {
  const { driver: name, searches, items } = fields(answer)
  if (!Array.isArray(searches) || !Array.isArray(items)) return undefined
  const driver = text(name) ?? ''
  return {
    searches: searches.map((each) => searchOf(driver, fields(each))),
    items: items.map((each) => thingOf(driver, fields(each))),
  }
}

type Fields = Readonly<Record<string, unknown>>

function searchOf(driver: string, reply: Fields): Search {
  return {
    driver,
    kind: text(reply['kind']) ?? '',
    scope: text(reply['scope']) ?? 'backend',
    listedAt: text(reply['listedAt']),
    listed: number(reply['listed']) ?? 0,
    undecided: number(reply['undecided']) ?? 0,
    undecidedBecause: text(reply['undecidedBecause']),
    omitted: number(reply['omitted']) ?? 0,
    failure: text(reply['failure']),
  }
}

function thingOf(driver: string, reply: Fields): Thing {
  const object = fields(reply['object'])
  const [kind, name] = [text(object['kind']), text(object['name'])]
  return {
    driver,
    kind: text(reply['kind']) ?? '',
    reason: text(reply['reason']) ?? '',
    handle: text(reply['handle']) ?? '',
    object: kind === undefined || name === undefined ? undefined : { kind, name },
    sizeBytes: number(reply['sizeBytes']),
    since: text(reply['since']),
    publishedNodes: number(reply['publishedNodes']),
    sourceVolume: text(reply['sourceVolume']),
  }
}

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
