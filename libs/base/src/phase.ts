/** The activity of work that runs under an AbortSignal, for reports. */
export type Phase = 'deciding' | 'calling' | 'writing'

const listeners = new WeakMap<AbortSignal, Set<(phase: Phase) => void>>()

/** Calls back when work under the signal enters a phase, until the returned function is called. */
export function onPhase(signal: AbortSignal, listener: (phase: Phase) => void): () => void {
  const all = listeners.get(signal) ?? new Set()
  listeners.set(signal, all.add(listener))
  return () => void all.delete(listener)
}

/** Acts, and reports the phase to the listeners of the signal: `phase` first, and `deciding` when the action ends. */
export async function inPhase<T>(phase: Phase, signal: AbortSignal | undefined, act: () => Promise<T>): Promise<T> {
  const all = signal && listeners.get(signal)
  if (all === undefined) return await act()
  for (const listener of all) listener(phase)
  try {
    return await act()
  } finally {
    for (const listener of all) listener('deciding')
  }
}
