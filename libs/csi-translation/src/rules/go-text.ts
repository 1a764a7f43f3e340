import { TranslationError } from './translation-error.ts'

/** The last separator for `textBehind`: it has `length` characters and starts where the look-ahead `at` matches. */
export interface LastSeparator {
  readonly at: RegExp
  readonly length: number
}

const ESCAPES = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
])
const UNPRINTABLE = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu

/** Quotes a text as Go's `%q` does. Messages contain names and handles in this form. */
export function quoted(text: string): string {
  return `"${text.replace(UNPRINTABLE, (character) => ESCAPES.get(character) ?? escaped(character))}"`
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const hex = code.toString(16)
  if (code < 0x80) return `\\x${hex.padStart(2, '0')}`
  return code > 0xffff ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`
}

const INT64 = 2n ** 63n

/** Parses a partition number. `verb` begins the error message, because two plugins of upstream spell it differently. */
export function partitionOf(text: string, verb: 'failed' | 'Failed'): number {
  const number = /^[+-]?[0-9]+$/.test(text) ? BigInt(text.replace('+', '')) : undefined
  if (number === undefined) throw badPartition(text, verb, 'invalid syntax')
  if (number >= INT64 || number < -INT64) throw badPartition(text, verb, 'value out of range')
  return Number(BigInt.asIntN(32, number))
}

function badPartition(text: string, verb: string, reason: string): TranslationError {
  return new TranslationError(
    'BAD_PARTITION',
    `${verb} to convert partition ${text} to integer: strconv.Atoi: parsing ${quoted(text)}: ${reason}`,
  )
}

/**
 * Returns the text that `mark.*mark.*last(.+)` of Go captures in the first line that matches. Takes linear time,
 * because users write these texts. Undefined if no line matches.
 */
export function textBehind(text: string, marks: readonly string[], last: LastSeparator): string | undefined {
  for (const line of text.split('\n')) {
    const from = endOf(line, marks)
    if (from === undefined) continue
    const rest = line.slice(from)
    let found: number | undefined
    for (const { index } of rest.matchAll(last.at)) {
      if (index + last.length < rest.length) found = index + last.length
    }
    if (found !== undefined) return rest.slice(found)
  }
  return undefined
}

/** Returns the position behind the last of `marks`, which the line must contain in this order. Undefined otherwise. */
function endOf(line: string, marks: readonly string[]): number | undefined {
  let from = 0
  for (const separator of marks) {
    const at = line.indexOf(separator, from)
    if (at === -1) return undefined
    from = at + separator.length
  }
  return from
}

/** Returns the text between the first `before` and the last `behind`, in the first line that has such a text. */
export function textBetween(text: string, before: string, behind: string): string | undefined {
  for (const line of text.split('\n')) {
    const at = line.indexOf(before)
    const from = at + before.length
    const to = line.lastIndexOf(behind)
    if (at !== -1 && to > from) return line.slice(from, to)
  }
  return undefined
}
