import { notJson, parseJson } from './decode.ts'

/** A text that is no list, or not even JSON. */
export class NoListError extends Error {
  override readonly name = 'NoListError'
}

/** What a page of a list says beside its objects. */
export interface ListHead {
  readonly resourceVersion: string | undefined
  readonly continue: string | undefined
}

export interface DecodedList {
  readonly head: ListHead
  /** The objects, each parsed when it is asked for. Throws NoListError where the text is no JSON. */
  readonly objects: Iterable<unknown>
}

/** What an API server writes before a list's objects: kind, version and metadata, none of them nested deeper. */
const HEAD = /^\{(?:"kind":"[A-Za-z]+",)?(?:"apiVersion":"[a-z0-9./]+",)?"metadata":(\{[^{}[\]]*\}),"items":\[/
const TAIL = ']}'

/**
 * Decodes a page without ever holding more than one of its objects in parsed form: a page of thousands, parsed whole,
 * is what a process keeps its memory for. Throws NoListError.
 */
export function decodeList(text: string): DecodedList {
  const match = HEAD.exec(text)
  const end = text.trimEnd().length - TAIL.length
  if (match === null || !text.startsWith(TAIL, end)) return decodeWhole(text)
  return { head: headOf(parsed(match[1] ?? '')), objects: objectsBetween(text, match[0].length, end) }
}

/** For lists that are written in another order. */
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
 * Cuts the objects apart where one ends and the next begins as the first one does: `},{"metadata":`. The same may occur
 * inside an object; a piece that ends there lacks its closing braces, is no JSON, and is tried again with more. Where
 * objects begin differently the rest comes in one piece.
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

/** Undefined for a piece that is not complete. */
function parsePiece(piece: string): unknown {
  try {
    return parseJson(piece)
  } catch {
    return undefined
  }
}
