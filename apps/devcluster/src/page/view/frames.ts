import type { Frame, Item } from './wire.ts'

/** The items that a frame has replaced. They undo the frame. */
export type Undo = readonly (readonly [id: string, before: Item | undefined])[]

/** Applies a frame to the items. */
export function apply(items: Map<string, Item>, { items: set = [], gone = [] }: Frame): Undo {
  const undo: [string, Item | undefined][] = []
  for (const item of set) {
    undo.push([item.id, items.get(item.id)])
    items.set(item.id, item)
  }
  for (const id of gone) {
    undo.push([id, items.get(id)])
    items.delete(id)
  }
  return undo
}

export function takeBack(items: Map<string, Item>, undo: Undo): void {
  for (const [id, before] of undo.toReversed()) {
    if (before === undefined) items.delete(id)
    else items.set(id, before)
  }
}
