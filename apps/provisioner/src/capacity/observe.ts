import type { CapacityView } from './decide.ts'
import { OBJECTS_BY_ITEM } from './items.ts'
import type { CapacityDeps } from './run.ts'

/** Returns the state of a class and a topology segment, as the input of `decideCapacity`. */
export function observeCapacity(
  key: string,
  { items, objects, classes }: Pick<CapacityDeps, 'items' | 'objects' | 'classes'>,
): CapacityView {
  const item = items.get(key)
  return {
    item,
    class: item && classes.store.get(item.className),
    objects: objects.store.byIndex(OBJECTS_BY_ITEM, key),
  }
}
