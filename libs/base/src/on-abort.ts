const listenersOf = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls `listener` when the signal is aborted; never if it was aborted before, as with the event itself. The returned
 * function removes the listener: call it when the wait ends otherwise. Any number of waits share one listener of the
 * event, because EventTarget goes through its whole list for each that is added or removed. A listener must not throw.
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

/** The activity of work that runs under an AbortSignal, for reports. */
export type RunPhase = 'deciding' | 'calling' | 'writing'

const listeners = new WeakMap<AbortSignal, Set<(phase: RunPhase) => void>>()

/** Calls back when work under the signal enters a phase, until the returned function is called. */
export function onPhase(signal: AbortSignal, listener: (phase: RunPhase) => void): () => void {
  const all = listeners.get(signal) ?? new Set()
  listeners.set(signal, all.add(listener))
  return () => void all.delete(listener)
}

/** Acts, and reports the phase to the listeners of the signal: `phase` first, and `deciding` when the action ends. */
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
