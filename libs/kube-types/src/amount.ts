/** The number `mantissa` x 10^`scale`, exact at any size. */
export interface Amount {
  readonly mantissa: bigint
  readonly scale: number
}

export function compareAmounts(a: Amount, b: Amount): number {
  const bySign = signOf(a) - signOf(b)
  if (bySign !== 0 || a.mantissa === 0n) return Math.sign(bySign)
  // Amounts of different lengths are compared by length only, so that 1e2000000000 is never written out.
  const byLength = digitsBeforePoint(a) - digitsBeforePoint(b)
  if (byLength !== 0) return Math.sign(byLength) * signOf(a)
  const scale = Math.min(a.scale, b.scale)
  const left = mantissaForScale(a, scale)
  const right = mantissaForScale(b, scale)
  if (left === right) return 0
  return left < right ? -1 : 1
}

export function signOf(amount: Amount): -1 | 0 | 1 {
  if (amount.mantissa === 0n) return 0
  return amount.mantissa < 0n ? -1 : 1
}

/** Returns the amount with a scale of at least `scale`. Dropped digits are rounded away from zero. */
export function roundAwayFromZero(amount: Amount, scale: number): Amount {
  const dropped = scale - amount.scale
  if (dropped <= 0 || amount.mantissa === 0n) return amount
  // If all digits are dropped, the result is one unit. The power of ten could be huge, so it is not computed.
  if (dropped > digitCount(amount.mantissa)) return { mantissa: BigInt(signOf(amount)), scale }
  const divisor = 10n ** BigInt(dropped)
  const quotient = amount.mantissa / divisor
  const exact = amount.mantissa % divisor === 0n
  return { mantissa: exact ? quotient : quotient + BigInt(signOf(amount)), scale }
}

/** Returns the same amount with the largest possible scale. */
export function withLargestScale(amount: Amount): Amount {
  if (amount.mantissa === 0n) return { mantissa: 0n, scale: 0 }
  const text = amount.mantissa.toString()
  let length = text.length
  while (text[length - 1] === '0') length -= 1
  return { mantissa: BigInt(text.slice(0, length)), scale: amount.scale + text.length - length }
}

/** Returns the mantissa for another scale, which must not be above the scale of the amount. */
export function mantissaForScale(amount: Amount, scale: number): bigint {
  return amount.mantissa * 10n ** BigInt(amount.scale - scale)
}

/** Returns the number of digits before the decimal point. It is negative if zeros follow the point. */
export function digitsBeforePoint(amount: Amount): number {
  return digitCount(amount.mantissa) + amount.scale
}

function digitCount(mantissa: bigint): number {
  return (mantissa < 0n ? -mantissa : mantissa).toString().length
}
