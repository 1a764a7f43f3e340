/** The current activity of one run of a controller: deciding, calling the driver, or writing to the API server. */
export type RunPhase = 'deciding' | 'calling' | 'writing'

const listenersOf = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls `listener` when the signal is aborted, but not if it is already aborted. The returned function removes the
 * listener. All listeners of a signal share one event listener, because an EventTarget with many event listeners is
 * slow. A listener must not throw.
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal === undefined || signal.aborted) return nothing
  const listeners = listenersOf.get(signal) ?? newListeners(signal)
  if (listeners.size === 0) signal.addEventListener('abort', callListeners)
  listeners.add(listener)
  return () => {
    if (listeners.delete(listener) && listeners.size === 0) signal.removeEventListener('abort', callListeners)
  }
}

function nothing(): void {}

function newListeners(signal: AbortSignal): Set<() => void> {
  const listeners = new Set<() => void>()
  listenersOf.set(signal, listeners)
  return listeners
}

function callListeners(this: AbortSignal): void {
  this.removeEventListener('abort', callListeners)
  const listeners = listenersOf.get(this)
  if (listeners === undefined) return
  for (const listener of listeners) {
    listeners.delete(listener)
    listener()
  }
}

const listeners = new WeakMap<AbortSignal, Set<(phase: RunPhase) => void>>()

/** Calls `listener` at each change of the phase of work with this signal, until the returned function is called. */
export function onPhase(signal: AbortSignal, listener: (phase: RunPhase) => void): () => void {
  const all = listeners.get(signal) ?? new Set()
  listeners.set(signal, all.add(listener))
  return () => void all.delete(listener)
}

/** Runs `act`. Reports `phase` to the signal's listeners before `act`, and `deciding` after `act`. */
export async function inPhase<T>(phase: RunPhase, signal: AbortSignal | undefined, act: () => Promise<T>): Promise<T> {
  const all = signal && listeners.get(signal)
  if (all === undefined) return await act()
  for (const listener of all) listener(phase)
  try {
    return await act()
  } finally {
    for (const listener of all) listener('deciding')
  }
}
