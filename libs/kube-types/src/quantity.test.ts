import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { Quantity, QuantityError } from './quantity.ts'

const MAX = 9223372036854775807n

describe('Quantity', () => {
  it.each<[text: string, canonical: string, bytes: bigint]>([
    // A quantity keeps its family of suffixes, for example Ki, Mi, Gi.
    ['1Gi', '1Gi', 1073741824n],
    ['1024Mi', '1Gi', 1073741824n],
    ['1536Mi', '1536Mi', 1610612736n],
    ['1.5Gi', '1536Mi', 1610612736n],
    ['2G', '2G', 2000000000n],
    ['1500M', '1500M', 1500000000n],
    ['2000M', '2G', 2000000000n],
    ['1e3', '1e3', 1000n],
    ['10e2', '1e3', 1000n],
    ['1e1', '10', 10n],
    ['1E', '1E', 10n ** 18n],
    ['1E1', '10', 10n],
    ['1000', '1k', 1000n],
    ['1500', '1500', 1500n],
    ['-5Gi', '-5Gi', -5368709120n],
    ['12Ei', '9223372036854775807', MAX],
    // Binary amounts below 1024 or with a fraction are written in decimal form.
    ['0.5Ki', '512', 512n],
    ['1.1Ki', '1126400m', 1127n],
    ['0.0001Ki', '102400u', 1n],
    ['1Ki', '1Ki', 1024n],
    // Amounts are rounded up to billionths, and sizes to whole bytes.
    ['0.1n', '1n', 1n],
    ['1.0000000001', '1000000001n', 2n],
    ['1e-100', '1e-9', 1n],
    ['-0.1n', '-1n', -1n],
    ['0.1', '100m', 1n],
    ['1.5', '1500m', 2n],
    ['-1.5', '-1500m', -2n],
    // Zero has no suffix.
    ['0', '0', 0n],
    ['0Gi', '0', 0n],
    ['-0', '0', 0n],
    ['0e5', '0', 0n],
    // The numbers below do not fit into an int64.
    ['8Ei', '9223372036854775807', MAX],
    ['-8Ei', '-9223372036854775807', -MAX],
    ['10E', '10E', MAX],
    ['1e30', '1e30', MAX],
    ['1000E', '1000E', MAX],
    ['1e2000000000', '100e1999999998', MAX],
    // Upstream considers the texts below canonical, so they are kept.
    ['1.500', '1.500', 2n],
    ['1.500k', '1.500k', 1500n],
    ['+1Gi', '+1Gi', 1073741824n],
    ['01Gi', '01Gi', 1073741824n],
    ['+100Ti', '100Ti', 109951162777600n],
    ['1E3', '1E3', 1000n],
    ['1e03', '1e03', 1000n],
    ['1.', '1.', 1n],
    // Upstream accepts a text without digits, or without digits before the point.
    ['.', '0', 0n],
    ['+', '0', 0n],
    ['Gi', '0', 0n],
    ['.5', '500m', 1n],
  ])('the quantity %s is written as %s and has %s bytes', (text, canonical, bytes) => {
    const quantity = Quantity.parse(text)
    expect(quantity.toString()).toBe(canonical)
    expect(quantity.bytes()).toBe(bytes)
  })

  it.each(['', ' 1', '1 ', '1Gi\n', '1.2.3', '1Q', 'abc', '1e1.5', '1,5'])('%j is not a valid quantity', (text) => {
    expect(() => Quantity.parse(text)).toThrow(
      new QuantityError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    )
  })

  it.each(['1ki', '1K', '1mi', '1Kii', '1e', '1kk', '1m5', '1-5', '--1', '1e99999999999999999999'])(
    'the text %j is not a quantity, because its suffix is invalid',
    (text) => {
      expect(() => Quantity.parse(text)).toThrow(new QuantityError("unable to parse quantity's suffix"))
    },
  )

  it.each(['Ei', '.Pi', '+.Ei', 'e-20'])('the text %j is not a quantity, because it has no number', (text) => {
    expect(() => Quantity.parse(text)).toThrow(new QuantityError('unable to parse numeric part of quantity'))
  })

  it('`tryParse` returns undefined for a text that is not a quantity', () => {
    expect(Quantity.tryParse('ten')).toBeUndefined()
    expect(Quantity.tryParse('10')?.bytes()).toBe(10n)
  })

  it.each<[bytes: bigint, text: string]>([
    [2147483648n, '2Gi'],
    [1610612736n, '1536Mi'],
    [2000000000n, '1953125Ki'],
    [1073741825n, '1073741825'],
    [500n, '500'],
    [1000n, '1k'],
    [0n, '0'],
  ])('a quantity of %s bytes is written as %s', (bytes, text) => {
    expect(Quantity.ofBytes(bytes).toString()).toBe(text)
  })

  it.each<[a: string, b: string, order: number]>([
    ['1Gi', '1024Mi', 0],
    ['1G', '1Gi', -1],
    ['1e3', '1k', 0],
    ['1000.000000001', '1k', 1],
    ['-1', '1n', -1],
    ['-2', '-1', -1],
    ['0', '-0.0', 0],
    ['9223372036854775808', '9223372036854775807', 1],
    ['1e2000000000', '9e1999999999', 1],
    ['-1e2000000000', '-9e1999999999', -1],
  ])('the quantities %s and %s are in the order %s', (a, b, order) => {
    expect(Quantity.parse(a).compare(Quantity.parse(b))).toBe(order)
    expect(Quantity.parse(b).compare(Quantity.parse(a))).toBe(order === 0 ? 0 : -order)
    expect(Quantity.parse(a).equals(Quantity.parse(b))).toBe(order === 0)
  })

  it('a quantity is written to JSON in its canonical text', () => {
    expect(JSON.stringify({ storage: Quantity.parse('1024Mi') })).toBe('{"storage":"1Gi"}')
  })

  const suffix = fc.constantFrom(
    '',
    'n',
    'u',
    'm',
    'k',
    'M',
    'G',
    'T',
    'P',
    'E',
    'Ki',
    'Mi',
    'Gi',
    'Ti',
    'e3',
    'e-3',
    'E6',
  )
  const number = fc.stringMatching(/^[+-]?[0-9]{1,17}(\.[0-9]{1,12})?$/)
  const quantity = fc.tuple(number, suffix).map(([digits, unit]) => digits + unit)

  it('parsing the text of a quantity returns an equal quantity', () => {
    fc.assert(
      fc.property(quantity, (text) => {
        const once = Quantity.parse(text)
        const again = Quantity.parse(once.toString())
        expect(again.equals(once)).toBe(true)
        expect(again.toString()).toBe(once.toString())
      }),
    )
  })

  it('formatting and parsing any number of bytes returns the same number', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: MAX }), (bytes) => {
        expect(Quantity.parse(Quantity.ofBytes(bytes).toString()).bytes()).toBe(bytes)
      }),
    )
  })

  it('quantities compare like their numbers of bytes', () => {
    const integer = fc.bigInt({ min: -MAX, max: MAX })
    fc.assert(
      fc.property(integer, integer, (a, b) => {
        const order = Quantity.parse(`${a}`).compare(Quantity.ofBytes(b))
        const unequal = a < b ? -1 : 1
        expect(order).toBe(a === b ? 0 : unequal)
      }),
    )
  })

  it('random texts cause only QuantityErrors when they are parsed', () => {
    const noise = fc.string({ unit: fc.constantFrom(...'0123456789.+-eEinumkKMGTP ') })
    fc.assert(
      fc.property(noise, (text) => {
        Quantity.tryParse(text)?.toString()
      }),
    )
  })
})
