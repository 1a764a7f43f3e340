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
