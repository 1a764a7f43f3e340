import type { Clock } from '@csi-sidecars/base'
import { notFound } from '../http/api-failure.ts'
import type { ApiObject, MetaChange } from '../schema/json.ts'
import type { ServedKind } from '../schema/kinds.ts'
import type { StoredEntry } from './collection.ts'
import type { Store } from './store.ts'
import { newUid } from './uid.ts'

/** The stored objects, and the settings that write requests need. */
export interface ObjectRegistry {
  /** The kinds that the server does not serve now, like a cluster without their CRDs. */
  readonly absent: Set<ServedKind>
  readonly store: Store
  readonly clock: Clock
  /** False if the server stores updates without validation. */
  readonly validates: boolean
}

/** The object or the status that a write concerns. */
export interface WriteTarget {
  readonly kind: ServedKind
  readonly namespace: string | undefined
  readonly name: string
  readonly status: boolean
}

/** The result of a write: the stored object, or in a dry run the object that would be stored. */
export interface WriteResult {
  readonly entry: Pick<StoredEntry, 'object' | 'text'>
  readonly created: boolean
  readonly warnings: readonly string[]
}

export function keyOf(target: Pick<WriteTarget, 'namespace' | 'name'>): string {
  return target.namespace === undefined ? target.name : `${target.namespace}/${target.name}`
}

export function existing(registry: ObjectRegistry, target: WriteTarget): StoredEntry {
  const entry = registry.store.of(target.kind).get(keyOf(target))
  if (entry === undefined) throw notFound(target.kind, target.name)
  return entry
}

export function timestamp(clock: Pick<Clock, 'now'>): string {
  return `${new Date(clock.now()).toISOString().slice(0, 19)}Z`
}

/** Stores an object, unless it is a dry run. */
export function commit(
  registry: ObjectRegistry,
  target: WriteTarget,
  { object, dryRun }: { readonly object: ApiObject; readonly dryRun: boolean },
): Pick<StoredEntry, 'object' | 'text'> {
  return dryRun ? unstored(object) : registry.store.upsert(target.kind, keyOf(target), object)
}

export function unstored(object: ApiObject): Pick<StoredEntry, 'object' | 'text'> {
  const { apiVersion: _version, kind: _kind, ...rest } = object
  return { object, text: JSON.stringify(rest) }
}

/** Returns the fields that the server sets in each new object. */
export function systemFields(registry: ObjectRegistry): MetaChange {
  return {
    uid: newUid(registry.clock, registry.store.revision + 1),
    creationTimestamp: timestamp(registry.clock),
    resourceVersion: undefined,
    deletionTimestamp: undefined,
    deletionGracePeriodSeconds: undefined,
    selfLink: undefined,
  }
}
