import {
  type Amount,
  compareAmounts,
  digitsBeforePoint,
  mantissaForScale,
  roundAwayFromZero,
  signOf,
  withLargestScale,
} from './amount.ts'

/** The three ways to write a quantity. A number without suffix is DecimalSI. */
export type SuffixFamily = 'DecimalSI' | 'BinarySI' | 'DecimalExponent'

/** The suffix of a quantity, such as Ki or M. */
export interface Suffix {
  readonly family: SuffixFamily
  /** The exponent of the suffix: to base two in BinarySI, else ten. */
  readonly exponent: number
}

/** The error for a text that is not a quantity. Its message is the message of the API server. */
export class QuantityError extends Error {
  override readonly name = 'QuantityError'
}

const FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
const NUMBER_WRONG = 'unable to parse numeric part of quantity'
const SUFFIX_WRONG = "unable to parse quantity's suffix"
/** The texts that Kubernetes accepts. It accepts a text without digits, although its error message requires digits. */
const QUANTITY_PATTERN = /^([+-]?)([0-9]*)(?:\.([0-9]*))?((?:[eEinumkKMGTP]+[-+]?|[-+])[0-9]*)?$/

/** The smallest scale of a quantity: billionths. */
const MIN_SCALE = -9
const MAX_INT64 = 2n ** 63n - 1n
const INT64_DIGITS = 19

/**
 * An amount in the API, such as `10Gi`, `500M`, `1e3` or `250m`. It is exact at any size and never changes. Its text
 * has the canonical form of upstream.
 */
export class Quantity {
  readonly #amount: Amount
  readonly #family: SuffixFamily
  #text: string | undefined

  private constructor(amount: Amount, family: SuffixFamily, text?: string) {
    this.#amount = amount
    this.#family = family
    this.#text = text
  }

  /** Parses a quantity. Throws a QuantityError with the message of the API server. */
  static parse(text: string): Quantity {
    const parsed = parseText(text)
    const amount = amountOf(parsed)
    if (isParsedAsInt64(parsed)) {
      return new Quantity(amount, parsed.suffix.family, isCanonicalForUpstream(parsed) ? text : undefined)
    }
    if (!parsed.hasDigits) throw new QuantityError(NUMBER_WRONG)
    const { family } = parsed.suffix
    const rounded = roundAndLimit(amount, family)
    const belowOne = signOf(rounded) > 0 && compareAmounts(rounded, ONE) < 0
    return new Quantity(rounded, family === 'BinarySI' && belowOne ? 'DecimalSI' : family)
  }

  static tryParse(text: string): Quantity | undefined {
    try {
      return Quantity.parse(text)
    } catch (error) {
      if (error instanceof QuantityError) return undefined
      throw error
    }
  }

  /** Returns the quantity of a size in bytes, as `2Gi` if divisible by 1024. */
  static ofBytes(bytes: bigint): Quantity {
    return new Quantity({ mantissa: bytes, scale: 0 }, 'BinarySI')
  }

  compare(other: Quantity): number {
    return compareAmounts(this.#amount, other.#amount)
  }

  /** Reports whether the amounts are equal. `1Gi` equals `1024Mi`. */
  equals(other: Quantity): boolean {
    return this.compare(other) === 0
  }

  isZero(): boolean {
    return this.sign() === 0
  }

  sign(): -1 | 0 | 1 {
    return signOf(this.#amount)
  }

  /** Returns the whole bytes, rounded away from zero and limited to an int64. */
  bytes(): bigint {
    if (digitsBeforePoint(this.#amount) > INT64_DIGITS) return BigInt(this.sign()) * MAX_INT64
    return limitToInt64(mantissaForScale(roundAwayFromZero(this.#amount, 0), 0))
  }

  toString(): string {
    this.#text ??= canonicalText(this.#amount, this.#family)
    return this.#text
  }

  /** Returns the text of the quantity for JSON. */
  toJSON(): string {
    return this.toString()
  }
}

const ONE: Amount = { mantissa: 1n, scale: 0 }
const KIBI: Amount = { mantissa: 1024n, scale: 0 }

/** The parts of the text of a quantity. */
interface ParsedText {
  readonly negative: boolean
  readonly hasDigits: boolean
  /** The digits before the point without leading zeros, at least `0`. */
  readonly integerDigits: string
  readonly fraction: string
  readonly suffix: Suffix
}

function parseText(text: string): ParsedText {
  const match = text === '' ? null : QUANTITY_PATTERN.exec(text)
  if (match === null) throw new QuantityError(FORMAT_WRONG)
  const [, sign, integerDigits = '', fraction = '', suffixText = ''] = match
  const suffix = parseSuffix(suffixText)
  if (suffix === undefined) throw new QuantityError(SUFFIX_WRONG)
  return {
    negative: sign === '-',
    hasDigits: integerDigits !== '' || fraction !== '',
    integerDigits: integerDigits.replace(/^0+/, '') || '0',
    fraction,
    suffix,
  }
}

function amountOf({ negative, integerDigits, fraction, suffix }: ParsedText): Amount {
  const digits = BigInt(integerDigits + fraction) * (negative ? -1n : 1n)
  if (digits === 0n) return { mantissa: 0n, scale: 0 }
  if (suffix.family === 'BinarySI') return { mantissa: digits << BigInt(suffix.exponent), scale: -fraction.length }
  return { mantissa: digits, scale: suffix.exponent - fraction.length }
}

/**
 * Reports whether upstream parses the text with an int64. In this case, upstream accepts texts without digits, and
 * keeps some texts unchanged.
 */
function isParsedAsInt64({ integerDigits, fraction, suffix }: ParsedText): boolean {
  if (suffix.family === 'BinarySI') return fraction === '' && integerDigits.length <= 14 - (suffix.exponent / 10) * 3
  return integerDigits.length + fraction.length <= 18 && suffix.exponent - fraction.length >= MIN_SCALE
}

/** Reports whether upstream considers a short text canonical. Upstream's quick check also accepts `1.500`. */
function isCanonicalForUpstream({ integerDigits, fraction, suffix }: ParsedText): boolean {
  const digits = integerDigits + fraction
  if (suffix.family === 'BinarySI') return (BigInt(digits) & 7n) !== 0n
  return (suffix.exponent - fraction.length) % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0')
}

/** Rounds the amount away from zero to whole billionths, and limits a binary size to an int64. */
function roundAndLimit(amount: Amount, family: SuffixFamily): Amount {
  const rounded = roundAwayFromZero(amount, MIN_SCALE)
  const tooLong = family === 'BinarySI' && compareAmounts(absoluteValue(rounded), { mantissa: MAX_INT64, scale: 0 }) > 0
  return tooLong ? { mantissa: BigInt(signOf(rounded)) * MAX_INT64, scale: 0 } : rounded
}

function canonicalText(amount: Amount, family: SuffixFamily): string {
  if (amount.mantissa === 0n) return '0'
  if (family === 'BinarySI') return binaryText(amount) ?? decimalText(amount, 'DecimalSI')
  return decimalText(amount, family)
}

/** Returns the text with a binary suffix. Undefined for amounts below 1024 or with a fraction, as in Kubernetes. */
function binaryText(amount: Amount): string | undefined {
  const rounded = roundAwayFromZero(amount, 0)
  if (compareAmounts(absoluteValue(amount), KIBI) < 0 || compareAmounts(rounded, amount) !== 0) return undefined
  let mantissa = mantissaForScale(rounded, 0)
  let exponent = 0
  for (; mantissa % 1024n === 0n; mantissa /= 1024n) exponent += 1
  return `${mantissa}${formatSuffix('BinarySI', exponent) ?? ''}`
}

/** Uses the largest suffix that leaves no fraction. Amounts larger than exa get the suffix E, which upstream omits. */
function decimalText(amount: Amount, family: 'DecimalSI' | 'DecimalExponent'): string {
  const { mantissa, scale } = withLargestScale(amount)
  const multipleOfThree = Math.floor(scale / 3) * 3
  const exponent = family === 'DecimalSI' ? Math.min(multipleOfThree, EXA_EXPONENT) : multipleOfThree
  return `${mantissaForScale({ mantissa, scale }, exponent)}${formatSuffix(family, exponent) ?? ''}`
}

function absoluteValue(amount: Amount): Amount {
  return amount.mantissa < 0n ? { mantissa: -amount.mantissa, scale: amount.scale } : amount
}

function limitToInt64(bytes: bigint): bigint {
  if (bytes > MAX_INT64) return MAX_INT64
  return bytes < -MAX_INT64 ? -MAX_INT64 : bytes
}

const EXPONENT_OF_DECIMAL_SUFFIX = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
])
const DECIMAL_SUFFIX_OF_EXPONENT = new Map([...EXPONENT_OF_DECIMAL_SUFFIX].map(([text, exponent]) => [exponent, text]))
const BINARY_SUFFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const EXPONENT_PATTERN = /^[eE]([+-]?[0-9]+)$/
const TWO_TO_63 = 2n ** 63n

/** The exponent of the largest decimal suffix. */
export const EXA_EXPONENT = 18

/** Returns the meaning of a suffix, or undefined for another text. `E` means exa, and `E0` is an exponent. */
export function parseSuffix(text: string): Suffix | undefined {
  const decimal = EXPONENT_OF_DECIMAL_SUFFIX.get(text)
  if (decimal !== undefined) return { family: 'DecimalSI', exponent: decimal }
  const binary = BINARY_SUFFIXES.indexOf(text)
  if (binary !== -1) return { family: 'BinarySI', exponent: binary * 10 }
  const digits = EXPONENT_PATTERN.exec(text)?.[1]
  if (digits === undefined) return undefined
  const exponent = BigInt(digits.replace('+', ''))
  if (exponent >= TWO_TO_63 || exponent < -TWO_TO_63) return undefined
  // Upstream keeps 32 bits of the exponent.
  return { family: 'DecimalExponent', exponent: Number(BigInt.asIntN(32, exponent)) }
}

/** Returns the suffix for a power of 1024 or ten, or undefined if there is no such suffix. */
export function formatSuffix(family: SuffixFamily, exponent: number): string | undefined {
  switch (family) {
    case 'BinarySI':
      return BINARY_SUFFIXES[exponent]
    case 'DecimalSI':
      return DECIMAL_SUFFIX_OF_EXPONENT.get(exponent)
    case 'DecimalExponent':
      return exponent === 0 ? '' : `e${exponent}`
  }
}
