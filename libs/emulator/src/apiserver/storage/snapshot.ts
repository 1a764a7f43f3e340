import { type ApiObject, isList, isObject, type Json } from '../schema/json.ts'
import { groupVersionOf, KINDS, type ServedKind } from '../schema/kinds.ts'
import { completed } from '../schema/typed.ts'
import { keyOf } from './registry.ts'
import type { Store } from './store.ts'

/** The content of a data file: all objects, and the number of the last write. */
export interface SavedObjects {
  readonly resourceVersion: number
  readonly objects: readonly ApiObject[]
}

/** A text that is no data file. */
class SnapshotError extends Error {
  override readonly name = 'SnapshotError'
}

/** The text of a data file with everything that is stored. */
export function snapshotText(store: Store): string {
  const objects = [...store.collections].flatMap((collection) => [...collection.entries()].map((entry) => entry.object))
  const lines = objects.map((object) => JSON.stringify(object))
  return `{"resourceVersion":${store.revision},"objects":[\n${lines.join(',\n')}\n]}\n`
}

/** Reads the text of a data file. An empty one, as mktemp makes it, holds nothing yet. */
export function readSnapshot(text: string): SavedObjects | undefined {
  if (text === '') return undefined
  const value = JSON.parse(text) as Json
  const { resourceVersion, objects } = isObject(value) ? value : {}
  if (typeof resourceVersion !== 'number' || !isList(objects)) throw new SnapshotError('not a data file')
  return { resourceVersion, objects: objects.map(known) }
}

/** Refuses an object of an unknown kind, because the server could not keep it. */
function known(object: Json): ApiObject {
  if (!isObject(object) || !isObject(object['metadata'])) throw new SnapshotError('not a data file')
  const whole = { ...object, metadata: object['metadata'] }
  kindOf(whole)
  return whole
}

/** Puts the objects of a snapshot into an empty store. They get new versions, above those they had. */
export function restore(store: Store, snapshot: SavedObjects): void {
  for (const object of snapshot.objects) {
    const kind = kindOf(object)
    const { name = '', namespace } = object.metadata
    store.put(kind, keyOf({ name, namespace }), completed(kind, object))
  }
}

function kindOf(object: ApiObject): ServedKind {
  const found = KINDS.find((kind) => kind.kind === object.kind && groupVersionOf(kind) === object.apiVersion)
  if (found === undefined) throw new SnapshotError(`no kind ${String(object.apiVersion)} ${String(object.kind)}`)
  return found
}
