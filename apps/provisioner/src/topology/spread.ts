const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193
const MAX_UINT32 = 2 ** 32 - 1

/**
 * The index of the topology that the claim uses first. All claims of a StatefulSet member share an index, and the next
 * member has the next index.
 */
export function placeOf(claimName: string, length: number): number {
  const { base, index } = partsOf(claimName)
  return ((fnv1(base) + index) >>> 0) % length
}

/** `<claim>-<set>-<index>` is spread by the set's name and the index, each other name by itself. */
function partsOf(name: string): { readonly base: string; readonly index: number } {
  const dash = name.lastIndexOf('-')
  const digits = name.slice(dash + 1)
  const index = Number(digits)
  if (dash === -1 || !/^[0-9]+$/.test(digits) || index > MAX_UINT32) return { base: name, index: 0 }
  const rest = name.slice(0, dash)
  return { base: rest.slice(rest.lastIndexOf('-') + 1), index }
}

/** FNV-1 with 32 bits. */
export function fnv1(text: string): number {
  let hash = FNV_OFFSET
  for (const byte of Buffer.from(text)) hash = (Math.imul(hash, FNV_PRIME) ^ byte) >>> 0
  return hash
}

/** FNV-1a with 32 bits. */
export function fnv1a(text: string): number {
  let hash = FNV_OFFSET
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, FNV_PRIME) >>> 0
  return hash
}
