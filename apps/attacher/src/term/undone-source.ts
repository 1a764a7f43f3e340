import type { Source } from '@csi-sidecars/controller'
import type { Informer } from '@csi-sidecars/informer'
import type { UpdateEvent } from './update-event.ts'

/** Calls `onUndone` if another writer undoes our write. List this source before sources that enqueue the object. */
export function watchUndone<T>(
  informer: Pick<Informer<T, never>, 'subscribe'>,
  isUndone: (event: UpdateEvent<T>) => boolean,
  onUndone: (object: T) => void,
): Source {
  return () =>
    informer.subscribe((event) => {
      if (event.type === 'updated' && isUndone(event)) onUndone(event.after)
    })
}
