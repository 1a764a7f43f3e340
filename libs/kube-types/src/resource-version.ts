const DECIMAL = /^(?:0|[1-9][0-9]*)$/

/**
 * Orders two resource versions of one resource: negative when `a` is the older.
 * They are whole numbers of any length; any other text is older than all of them.
 */
export function compareResourceVersions(a: string, b: string): number {
  const aIs = DECIMAL.test(a)
  const bIs = DECIMAL.test(b)
  if (!aIs || !bIs) return Number(aIs) - Number(bIs)
  if (a.length !== b.length) return a.length - b.length
  if (a === b) return 0
  return a < b ? -1 : 1
}
