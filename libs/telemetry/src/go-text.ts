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
const TO_ESCAPE_ASCII = /["\\]|[^ -~]/gu

/** Quotes a text as Go's `strconv.Quote` does. */
export function goQuote(text: string): string {
  return `"${text.replace(TO_ESCAPE, escapeOne)}"`
}

/** Quotes bytes as Go's `%+q` does: in ASCII only, and with each byte that is not UTF-8 escaped separately. */
export function goQuoteBytes(bytes: Uint8Array): string {
  let quoted = ''
  for (const part of decodeLossless(bytes)) {
    quoted += typeof part === 'number' ? `\\x${hex(part, 2)}` : part.replace(TO_ESCAPE_ASCII, escapeOne)
  }
  return `"${quoted}"`
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

/** Splits bytes into UTF-8 characters, and into single bytes that are not part of a character. */
function decodeLossless(bytes: Uint8Array): (string | number)[] {
  const decoded: (string | number)[] = []
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at] ?? 0
    const width = utf8Width(first)
    const encoded = Buffer.from(bytes.subarray(at, at + width))
    const text = encoded.toString('utf8')
    const isCharacter = Buffer.from(text).equals(encoded)
    decoded.push(isCharacter ? text : first)
    at += isCharacter ? width : 1
  }
  return decoded
}

/** Returns the number of bytes of the UTF-8 character that begins with this byte. */
function utf8Width(first: number): number {
  if (first < 0x80) return 1
  if (first < 0xe0) return 2
  return first < 0xf0 ? 3 : 4
}

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
