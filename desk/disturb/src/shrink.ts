/** The limits of the search for the fewest steps that still fail. */
export interface ShrinkOptions {
  /** The largest number of shorter lists of steps to try. */
  readonly tries: number
  /** The number of shorter lists that run at the same time. Default: 1. */
  readonly concurrency?: number
}

/**
 * Returns fewer steps that still fail. It leaves out smaller and smaller parts of the steps (delta debugging). The
 * result need not be the shortest list, because a failing list may pass by chance.
 */
export async function shrink<Step>(
  steps: readonly Step[],
  fails: (candidate: readonly Step[]) => Promise<boolean>,
  { tries, concurrency = 1 }: ShrinkOptions,
): Promise<readonly Step[]> {
  let left = tries
  let smallest = steps
  let chunks = 2
  while (smallest.length > 1 && left > 0) {
    const size = Math.ceil(smallest.length / chunks)
    const candidates = Array.from({ length: Math.ceil(smallest.length / size) }, (_, part) =>
      smallest.filter((_step, index) => Math.floor(index / size) !== part),
    )
    const found = await firstFailing(candidates.slice(0, left), fails, concurrency)
    left -= found.tried
    if (found.candidate !== undefined) {
      smallest = found.candidate
      chunks = Math.max(2, chunks - 1)
    } else if (size === 1) {
      return smallest
    } else {
      chunks = Math.min(smallest.length, chunks * 2)
    }
  }
  return smallest
}

async function firstFailing<Step>(
  candidates: readonly (readonly Step[])[],
  fails: (candidate: readonly Step[]) => Promise<boolean>,
  concurrency: number,
): Promise<{ readonly candidate?: readonly Step[]; readonly tried: number }> {
  for (let at = 0; at < candidates.length; at += concurrency) {
    const batch = candidates.slice(at, at + concurrency)
    const results = await Promise.all(batch.map(fails))
    const candidate = batch[results.indexOf(true)]
    if (candidate !== undefined) return { candidate, tried: at + batch.length }
  }
  return { tried: candidates.length }
}
