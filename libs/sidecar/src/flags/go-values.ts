import { goQuote } from '@csi-sidecars/telemetry'

/** The reason why Go's package strconv or time refuses a text. */

export type ValueProblem = 'syntax' | 'range'

/** The error of a text that Go does not accept as a value. */
export class ValueError extends Error {
  override readonly name = 'ValueError'
  readonly problem: ValueProblem
  /** The error message of Go's time package, for example `missing unit in duration`. */
  readonly durationProblem: string

  constructor(problem: ValueProblem, ofDuration = 'invalid duration') {
    super(problem === 'range' ? 'value out of range' : 'parse error')
    this.problem = problem
    this.durationProblem = ofDuration
  }
}

const BOOLEANS: Readonly<Record<string, boolean>> = {
  '1': true,
  t: true,
  T: true,
  TRUE: true,
  true: true,
  True: true,
  '0': false,
  f: false,
  F: false,
  FALSE: false,
  false: false,
  False: false,
}

export function parseGoBool(text: string): boolean {
  const value = Object.hasOwn(BOOLEANS, text) ? BOOLEANS[text] : undefined
  if (value === undefined) throw new ValueError('syntax')
  return value
}

const MAX_UINT64 = 2n ** 64n - 1n
const MAX_INT64 = 2n ** 63n - 1n

/** Matches the prefixes of numbers in Go: 0x, 0o, 0b, and a leading 0 for octal. */
const PREFIXED = /^0(?:[xX](?<hex>.*)|[bB](?<binary>.*)|[oO](?<octal>.*)|(?<plain>.+))$/s
/** Returns the base that the prefix of a number chooses, and the digits behind the prefix. */
function splitPrefix(text: string): { readonly base: number; readonly digits: string } {
  const { hex, binary, octal, plain } = PREFIXED.exec(text)?.groups ?? {}
  if (hex !== undefined) return { base: 16, digits: hex }
  if (binary !== undefined) return { base: 2, digits: binary }
  const digits = octal ?? plain
  return digits === undefined ? { base: 10, digits: text } : { base: 8, digits }
}

/** Reads digits without a sign. Like Go, it reports a number above `max` even if a wrong character follows. */
function parseMagnitude(text: string, max: bigint): bigint {
  const { base, digits } = splitPrefix(text)
  if (digits === '') throw new ValueError('syntax')
  let value = 0n
  for (const character of digits) {
    if (character === '_') continue
    const digit = Number.parseInt(character, 36)
    if (!(digit < base)) throw new ValueError('syntax')
    value = value * BigInt(base) + BigInt(digit)
    if (value > max) throw new ValueError('range')
  }
  if (!areUnderscoresValid(text)) throw new ValueError('syntax')
  return value
}

/** Reports whether each `_` is between two digits. A prefix such as `0x` counts as a digit. */
function areUnderscoresValid(text: string): boolean {
  const { prefix, rest = '' } = /^[+-]?(?<prefix>0[xXbBoO])?(?<rest>.*)$/s.exec(text)?.groups ?? {}
  const digit = /^0x/i.test(prefix ?? '') ? '[0-9a-fA-F]' : '[0-9]'
  // regex-bounded: the expression reads only an underscore and the character next to it
  const misplaced = new RegExp(`(?<!${digit})_|_(?!${digit})`)
  return !misplaced.test(prefix === undefined ? rest : `0${rest}`)
}

/** Reads an `int` of Go with 64 bits. Numbers beyond 2^53 lose their last digits. */
export function parseGoInt(text: string): number {
  const negative = text.startsWith('-')
  const magnitude = parseMagnitude(/^[+-]/.test(text) ? text.slice(1) : text, MAX_UINT64)
  if (magnitude > (negative ? MAX_INT64 + 1n : MAX_INT64)) throw new ValueError('range')
  return negative ? -Number(magnitude) : Number(magnitude)
}

export function parseGoUint(text: string): number {
  return Number(parseMagnitude(text, MAX_UINT64))
}

/** Reads decimal digits only, like `strconv.ParseUint(text, 10, 31)`. */
export function parseGoLevel(text: string): number {
  if (!/^[0-9]/.test(text)) throw new ValueError('syntax')
  let value = 0
  for (const character of text) {
    if (!/[0-9]/.test(character)) throw new ValueError('syntax')
    value = value * 10 + Number(character)
    if (value > 2 ** 31 - 1) throw new ValueError('range')
  }
  return value
}

const DECIMAL_FLOAT = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/
const HEX_FLOAT =
  /^(?<sign>[+-]?)0[xX](?<whole>[0-9a-fA-F]*)(?:\.(?<fraction>[0-9a-fA-F]*))?[pP](?<exponent>[+-]?[0-9]+)$/
const SPECIAL_FLOAT = /^(?:(?<infinity>[+-]?inf(?:inity)?)|nan)$/i

export function parseGoFloat(text: string): number {
  const special = SPECIAL_FLOAT.exec(text)
  if (special !== null) {
    if (special.groups?.['infinity'] === undefined) return Number.NaN
    return text.startsWith('-') ? -Infinity : Infinity
  }
  if (!areUnderscoresValid(text)) throw new ValueError('syntax')
  const plain = text.replaceAll('_', '')
  const value = DECIMAL_FLOAT.test(plain) ? Number(plain) : hexFloat(plain)
  if (!Number.isFinite(value)) throw new ValueError('range')
  return value
}

function hexFloat(text: string): number {
  const { sign, whole = '', fraction = '', exponent } = HEX_FLOAT.exec(text)?.groups ?? {}
  const digits = `${whole}${fraction}`
  if (exponent === undefined || digits === '') throw new ValueError('syntax')
  const shift = Number(exponent) - 4 * fraction.length
  const value = timesPowerOfTwo(BigInt(`0x${digits}`), shift)
  return sign === '-' ? -value : value
}

/** Returns `mantissa` x 2^`shift`. Multiplies in steps, because a single factor could overflow or become zero. */
function timesPowerOfTwo(mantissa: bigint, shift: number): number {
  let value = Number(mantissa)
  for (let left = shift; left !== 0 && value !== 0 && Number.isFinite(value); ) {
    const step = Math.max(-1000, Math.min(1000, left))
    value *= 2 ** step
    left -= step
  }
  return value
}

/** The length of each unit in nanoseconds. */
const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  '\u00b5s': 1_000n,
  '\u03bcs': 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}
const DURATION_PART = /^(?<whole>[0-9]*)(?:\.(?<fraction>[0-9]*))?(?<unit>[^0-9.]*)/

/** Reads a duration like `time.ParseDuration` of Go, and returns milliseconds: `1h15m30.5s`, `-5ms`, `0`. */
export function parseGoDuration(text: string): number {
  const negative = text.startsWith('-')
  let rest = /^[+-]/.test(text) ? text.slice(1) : text
  if (rest === '0') return 0
  if (rest === '') throw new ValueError('syntax')
  let nanos = 0n
  const max = negative ? MAX_INT64 + 1n : MAX_INT64
  while (rest !== '') {
    const match = DURATION_PART.exec(rest)
    const { whole = '', fraction = '', unit: name = '' } = match?.groups ?? {}
    const unit = Object.hasOwn(UNITS, name) ? UNITS[name] : undefined
    if (match === null || whole + fraction === '') throw new ValueError('syntax')
    if (name === '') throw new ValueError('syntax', 'missing unit in duration')
    if (unit === undefined) throw new ValueError('syntax', `unknown unit ${goQuote(name)} in duration`)
    nanos += BigInt(whole === '' ? '0' : whole) * unit + fractionOf(fraction, unit)
    if (nanos > max) throw new ValueError('syntax')
    rest = rest.slice(match[0].length)
  }
  const millis = Number(nanos) / 1e6
  return negative ? -millis : millis
}

/** Returns the nanoseconds of a fraction of the unit, rounded down. */
function fractionOf(digits: string, unit: bigint): bigint {
  return digits === '' ? 0n : (BigInt(digits) * unit) / 10n ** BigInt(digits.length)
}

/** Returns a duration in the notation of Go: `10m0s`, `1.5s`, `100ms`, `0s`. */
export function goDuration(ms: number): string {
  const nanos = BigInt(Math.round(ms * 1e6))
  if (nanos === 0n) return '0s'
  const sign = nanos < 0n ? '-' : ''
  const size = nanos < 0n ? -nanos : nanos
  if (size < 1_000n) return `${sign}${size}ns`
  if (size < 1_000_000n) return `${sign}${decimalText(size, 1_000n)}\u00b5s`
  if (size < 1_000_000_000n) return `${sign}${decimalText(size, 1_000_000n)}ms`
  const minutes = size / 60_000_000_000n
  const seconds = `${decimalText(size % 60_000_000_000n, 1_000_000_000n)}s`
  if (minutes === 0n) return `${sign}${seconds}`
  const hours = minutes / 60n
  return hours === 0n ? `${sign}${minutes}m${seconds}` : `${sign}${hours}h${minutes % 60n}m${seconds}`
}

function decimalText(value: bigint, unit: bigint): string {
  const digits = String((value % unit) + unit).slice(1)
  // regex-bounded: `digits` has one character for each zero of the unit
  const fraction = digits.replace(/0+$/, '')
  return fraction === '' ? String(value / unit) : `${value / unit}.${fraction}`
}
