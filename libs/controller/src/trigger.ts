import type { Informer, InformerEvent } from '@csi-sidecars/informer'

/** The keys that an event puts to work; pure. */
export type Trigger<T> = (event: InformerEvent<T>) => Iterable<string>

/** What a trigger feeds. */
export interface KeySink {
  add(key: string): void
}

/**
 * Feeds the queue from the informer, starting with what its store already holds as if it was added just now.
 * Returns what ends it.
 */
export function feed<T>(informer: Informer<T>, trigger: Trigger<T>, queue: KeySink): () => void {
  const handle = (event: InformerEvent<T>): void => {
    for (const key of trigger(event)) queue.add(key)
  }
  const stop = informer.subscribe(handle)
  for (const object of informer.store.values()) handle({ type: 'added', object })
  return stop
}
