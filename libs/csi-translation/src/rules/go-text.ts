import { TranslationError } from './translation-error.ts'

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

/** Returns the partition number in a text. `verb` begins the message: two plugins of upstream spell it differently. */
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
