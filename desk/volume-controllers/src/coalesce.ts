/**
 * Allows one run of `run` at a time for each key. All calls during a run share the next run, so that no result is older
 * than its call.
 */
export function coalesced<T>(
  run: (key: string, signal: AbortSignal) => Promise<T>,
): (key: string, signal: AbortSignal) => Promise<T> {
  const running = new Map<string, Promise<T>>()
  const next = new Map<string, Promise<T>>()
  const start = (key: string, signal: AbortSignal): Promise<T> => {
    const current = run(key, signal).finally(() => {
      if (running.get(key) === current) running.delete(key)
    })
    running.set(key, current)
    return current
  }
  const ended = (promise: Promise<T>): Promise<unknown> => promise.catch(() => undefined)
  return (key, signal) => {
    const before = running.get(key)
    if (before === undefined) return start(key, signal)
    const waiting = next.get(key)
    if (waiting !== undefined) return waiting
    const after = ended(before).then(() => {
      next.delete(key)
      return start(key, signal)
    })
    next.set(key, after)
    return after
  }
}
