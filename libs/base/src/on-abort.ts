const listenersOf = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls `listener` when the signal is aborted; never when it was before, as with the event itself. The returned function
 * takes the listener back: call it when the wait ends otherwise. However many wait on a signal, it has one listener of
 * the event: EventTarget goes through all it has for each that comes or goes. A listener must not throw.
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
