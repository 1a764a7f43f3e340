const MAX_INT32 = 2 ** 31 - 1

/** A number that comes from outside, such as seconds or a count: undefined unless it is whole, not negative and an int32. */
export function wholeNumberOf(value: unknown): number | undefined {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_INT32 ? Number(value) : undefined
}
