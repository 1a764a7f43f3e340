/** What a line says beside its message. Keys are words without blanks; insertion order is print order. */
export type Pairs = Readonly<Record<string, unknown>>

/**
 * Both, first before second; of a key that is in both the second's value is kept, at the second's place.
 * An equal value stays at its first place, so that context pairs lead in every line.
 */
export function mergePairs(first: Pairs, second: Pairs | undefined): Pairs {
  if (second === undefined) return first
  const merged: Record<string, unknown> = { ...first }
  for (const key of Object.keys(second)) {
    const value = second[key]
    if (Object.hasOwn(merged, key) && merged[key] !== value) delete merged[key]
    merged[key] = value
  }
  return merged
}
