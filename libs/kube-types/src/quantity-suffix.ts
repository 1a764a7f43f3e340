/** The three ways to write a quantity. A number without suffix is DecimalSI. */
export type SuffixFamily = 'DecimalSI' | 'BinarySI' | 'DecimalExponent'

export interface Suffix {
  readonly family: SuffixFamily
  /** The base of the exponent: two in BinarySI, ten otherwise. */
  readonly exponent: number
}

const DECIMAL = new Map([
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
const DECIMAL_TEXT = new Map([...DECIMAL].map(([text, exponent]) => [exponent, text]))
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const EXPONENT = /^[eE]([+-]?[0-9]+)$/
const INT64 = 2n ** 63n

/** The exponent of the largest decimal suffix. */
export const EXA = 18

/** Returns the meaning of a suffix, and undefined for other texts. `1E` is an exa, `1E0` an exponent. */
export function suffixOf(text: string): Suffix | undefined {
  const decimal = DECIMAL.get(text)
  if (decimal !== undefined) return { family: 'DecimalSI', exponent: decimal }
  const binary = BINARY.indexOf(text)
  if (binary !== -1) return { family: 'BinarySI', exponent: binary * 10 }
  const digits = EXPONENT.exec(text)?.[1]
  if (digits === undefined) return undefined
  const exponent = BigInt(digits.replace('+', ''))
  if (exponent >= INT64 || exponent < -INT64) return undefined
  // Upstream keeps 32 bits of the exponent.
  return { family: 'DecimalExponent', exponent: Number(BigInt.asIntN(32, exponent)) }
}

/** The text for a power of 1024, or of ten in steps of three; undefined beyond the largest suffix. */
export function suffixText(family: SuffixFamily, exponent: number): string | undefined {
  switch (family) {
    case 'BinarySI':
      return BINARY[exponent]
    case 'DecimalSI':
      return DECIMAL_TEXT.get(exponent)
    case 'DecimalExponent':
      return exponent === 0 ? '' : `e${exponent}`
  }
}
