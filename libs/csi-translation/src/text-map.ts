export type TextMap = { readonly [key: string]: string }

/** In the order of the keys, so that of two spellings of one name always the same one comes last, and wins. */
export function entriesByKey(map: TextMap | null | undefined): [key: string, value: string][] {
  return Object.entries(map ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
}
