import { readFile, rename, writeFile } from 'node:fs/promises'
import { messageOf } from '@csi-sidecars/base'
import { isList, isObject, type Json, type KubeObject } from '../schema/json.ts'
import { groupVersionOf, KINDS, type Kind } from '../schema/kinds.ts'
import { completed } from '../schema/typed.ts'
import { keyOf } from './registry.ts'
import type { Store } from './store.ts'

/** What a data file holds: all objects, and the number of the last write. */
interface Snapshot {
  readonly resourceVersion: number
  readonly objects: readonly KubeObject[]
}

/** A data file that cannot be used; the message names it. */
class SnapshotError extends Error {
  override readonly name = 'SnapshotError'
}

/** Writes everything that is stored. The file is replaced at once, so a crash leaves the former one. */
export async function saveSnapshot(store: Store, file: string): Promise<void> {
  const objects = [...store.collections].flatMap((collection) => [...collection.entries()].map((entry) => entry.object))
  const lines = objects.map((object) => JSON.stringify(object))
  const text = `{"resourceVersion":${store.revision},"objects":[\n${lines.join(',\n')}\n]}\n`
  try {
    await writeFile(`${file}.new`, text)
    await rename(`${file}.new`, file)
  } catch (error) {
    throw new SnapshotError(`${file} cannot be written: ${messageOf(error)}`, { cause: error })
  }
}

/** Reads a data file; undefined when there is none yet. */
export async function readSnapshot(file: string): Promise<Snapshot | undefined> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if (Reflect.get(Object(error), 'code') === 'ENOENT') return undefined
    throw new SnapshotError(`${file}: ${messageOf(error)}`, { cause: error })
  }
  return parsed(text, file)
}

function parsed(text: string, file: string): Snapshot {
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch (error) {
    throw new SnapshotError(`${file}: ${messageOf(error)}`, { cause: error })
  }
  const { resourceVersion, objects } = isObject(value) ? value : {}
  if (typeof resourceVersion !== 'number' || !isList(objects)) throw new SnapshotError(`${file}: not a data file`)
  return { resourceVersion, objects: objects as readonly KubeObject[] }
}

/** Puts the objects of a snapshot into an empty store. They get new versions, above those they had. */
export function restore(store: Store, snapshot: Snapshot): void {
  for (const object of snapshot.objects) {
    const kind = kindOf(object)
    const { name = '', namespace } = object.metadata
    store.put(kind, keyOf({ name, namespace }), completed(kind, object))
  }
}

function kindOf(object: KubeObject): Kind {
  const found = KINDS.find((kind) => kind.kind === object.kind && groupVersionOf(kind) === object.apiVersion)
  if (found === undefined) throw new SnapshotError(`no kind ${String(object.apiVersion)} ${String(object.kind)}`)
  return found
}
