/**
 * Shares runs of `run`: a caller that asks for a key while a run for it is under way gets the result of the next one,
 * together with all others who ask by then. So a result is never older than its question, and a thousand questions at
 * once cost two runs.
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
