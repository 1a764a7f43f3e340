import { notJson, parseJson } from './decode.ts'

/** The metadata of a page of a list. */
export interface ListHead {
  readonly resourceVersion: string | undefined
  readonly continue: string | undefined
}

/** One page of a list. */
export interface DecodedList {
  readonly head: ListHead
  /** The objects, parsed when read. Throws NoListError if the text is not JSON. */
  readonly objects: Iterable<unknown>
}

/** The error of a text that is not a list, or not even JSON. */
export class NoListError extends Error {
  override readonly name = 'NoListError'
}

/** The start of a list as an API server writes it: `kind`, `apiVersion` and flat metadata before the items. */
const HEAD = /^\{(?:"kind":"[A-Za-z]+",)?(?:"apiVersion":"[a-z0-9./]+",)?"metadata":(\{[^{}[\]]*\}),"items":\[/
const TAIL = ']}'

/**
 * Decodes a page of a list. Parses one object at a time, because a whole parsed page would raise the peak memory of the
 * process. Throws NoListError.
 */
export function decodeList(text: string): DecodedList {
  const match = HEAD.exec(text)
  const end = text.trimEnd().length - TAIL.length
  if (match === null || !text.startsWith(TAIL, end)) return decodeWhole(text)
  return { head: headOf(parsed(match[1] ?? '')), objects: objectsBetween(text, match[0].length, end) }
}

/** Parses a whole list at once, because its members are in an unusual order. */
function decodeWhole(text: string): DecodedList {
  const value = parsed(text)
  if (typeof value !== 'object' || value === null || !('metadata' in value) || !('items' in value)) {
    throw new NoListError('there are no items')
  }
  const { metadata, items } = value
  if (items !== null && !Array.isArray(items)) throw new NoListError('the items are no array')
  return { head: headOf(metadata), objects: items ?? [] }
}

function parsed(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    throw new NoListError(notJson(text))
  }
}

function headOf(metadata: unknown): ListHead {
  const text = (name: string): string | undefined => {
    const value = typeof metadata === 'object' && metadata !== null ? Reflect.get(metadata, name) : undefined
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  return { resourceVersion: text('resourceVersion'), continue: text('continue') }
}

/**
 * Splits the text of a list into its objects. A new object begins at `},{"metadata":`, with the key that also begins
 * the first object. A piece that is not a complete object is joined with the next piece.
 */
function* objectsBetween(text: string, from: number, end: number): Generator<unknown> {
  const key = /\{"[A-Za-z]+":/y
  key.lastIndex = from
  const seam = `},${key.exec(text)?.[0] ?? ''}`
  let start = from
  for (let cut = text.indexOf(seam, from); cut >= 0 && cut < end; cut = text.indexOf(seam, cut + 1)) {
    const object = parsePiece(text.slice(start, cut + 1))
    if (object === undefined) continue
    yield object
    start = cut + 2
  }
  if (start === end) return
  const rest = parsed(`[${text.slice(start, end)}]`)
  if (Array.isArray(rest)) yield* rest
}

/** Parses a piece of a list. Undefined if the piece is not a complete object. */
function parsePiece(piece: string): unknown {
  try {
    return parseJson(piece)
  } catch {
    return undefined
  }
}
