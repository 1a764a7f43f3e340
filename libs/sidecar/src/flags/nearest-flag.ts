/**
 * Returns the known name that is most similar to an unknown name. Names are similar if one begins with the other, or if
 * at most four characters, and at most a third of the unknown name, differ.
 */
export function nearestFlag(name: string, names: Iterable<string>): string | undefined {
  let nearest: string | undefined
  let least = Math.min(Math.floor(name.length / 3), MAX_EDITS) + 1
  for (const each of names) {
    const distance = sameBeginning(name, each) ? 0.5 : edits(name, each, least)
    if (distance < least) [nearest, least] = [each, distance]
  }
  return nearest
}

const MAX_EDITS = 4

/** Reports whether one name begins with the other: `-v5` is `-v` with a value, and `--worker` is shortened. */
function sameBeginning(name: string, candidate: string): boolean {
  if (candidate.length === 1) return name.startsWith(candidate) && /^\d+$/.test(name.slice(1))
  return name.length > 2 && (candidate.startsWith(name) || name.startsWith(candidate))
}

/**
 * Returns the edit distance of two names, or `limit` if their lengths differ by `limit` or more. Ignores case, and
 * treats `_` like `-`.
 */
function edits(left: string, right: string, limit: number): number {
  if (Math.abs(left.length - right.length) >= limit) return limit
  const [a, b] = [plain(left), plain(right)]
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [i, character] of a.entries()) {
    const next = [i + 1]
    for (const [j, other] of b.entries()) {
      const replaced = (row[j] ?? 0) + (character === other ? 0 : 1)
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}

const plain = (name: string): readonly string[] => [...name.toLowerCase().replaceAll('_', '-')]
