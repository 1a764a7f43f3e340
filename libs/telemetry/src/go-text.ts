/** Formats strings and numbers exactly as Go does, because programs that read our output expect Go's format. */

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
}

/** The characters that Go's `%q` escapes: quotes, control characters, and invisible characters except the blank. */
const TO_ESCAPE = /["\\]|(?! )[\p{C}\p{Z}]/gu

/** Quotes a text as Go's `strconv.Quote` does. */
export function goQuote(text: string): string {
  return `"${text.replace(TO_ESCAPE, escapeOne)}"`
}

function escapeOne(character: string): string {
  const short = SHORT_ESCAPES[character]
  if (short !== undefined) return short
  const point = character.codePointAt(0) ?? 0
  if (point < 0x20 || point === 0x7f) return `\\x${hex(point, 2)}`
  // A Go string cannot contain a lone surrogate. Go replaces it with this character.
  if (point >= 0xd800 && point <= 0xdfff) return '\ufffd'
  return point > 0xffff ? `\\U${hex(point, 8)}` : `\\u${hex(point, 4)}`
}

const hex = (value: number, width: number): string => value.toString(16).padStart(width, '0')

/** Returns a number like Go's `strconv.FormatFloat(value, 'g', -1, 64)`, as in Prometheus' text format. */
export function goFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (value === Infinity) return '+Inf'
  if (value === -Infinity) return '-Inf'
  if (Object.is(value, -0)) return '-0'
  const [digits = '', exponentText = '0'] = value.toExponential().split('e')
  const exponent = Number(exponentText)
  if (value === 0 || (exponent >= -4 && exponent < 6)) return String(value)
  const sign = exponent < 0 ? '-' : '+'
  return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`
}
