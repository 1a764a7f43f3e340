import type { Source, Trigger } from '@csi-sidecars/controller'
import type { Cached, Informer, InformerEvent } from '@csi-sidecars/informer'
import type { UndoneWrites } from './undone-writes.ts'

type Changes<T> = Pick<Informer<T, never>, 'subscribe'>
export type Update<T> = InformerEvent<T> & { readonly type: 'updated' }

/** Keys by the events of a cache from now on: what it holds already is no news. */
export function changesOf<T>(informer: Changes<T>, trigger: Trigger<T>): Source {
  return (queue) =>
    informer.subscribe((event) => {
      for (const key of trigger(event)) queue.add(key)
    })
}

/** Notes which of our writes other writers undo, before the sources that have their objects looked at. */
export function undoneBy<T extends Cached>(
  informer: Changes<T>,
  isUndone: (event: Update<T>) => boolean,
  writes: Pick<UndoneWrites, 'note'>,
): Source {
  return () =>
    informer.subscribe((event) => {
      if (event.type === 'updated' && isUndone(event)) writes.note(event.after)
    })
}
