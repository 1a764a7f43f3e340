import type { Clock } from '@csi-sidecars/base'
import { notFound } from '../http/api-failure.ts'
import type { KubeObject, MetaChange } from '../schema/json.ts'
import type { Kind } from '../schema/kinds.ts'
import type { Entry } from './collection.ts'
import type { Store } from './store.ts'
import { newUid } from './uid.ts'

/** What the writing verbs work on. */
export interface Registry {
  /** Kinds that are not served now. */
  readonly absent: Set<Kind>
  readonly store: Store
  readonly clock: Clock
  /** False: any object is stored, as an older or a newer server may have stored it. */
  readonly validates: boolean
}

export interface Target {
  readonly kind: Kind
  readonly namespace: string | undefined
  readonly name: string
  readonly status: boolean
}

/** A stored object, or with dry run the one that would have been stored. */
export interface Written {
  readonly entry: Pick<Entry, 'object' | 'text'>
  readonly created: boolean
  readonly warnings: readonly string[]
}

export function keyOf(target: Pick<Target, 'namespace' | 'name'>): string {
  return target.namespace === undefined ? target.name : `${target.namespace}/${target.name}`
}

export function existing(registry: Registry, target: Target): Entry {
  const entry = registry.store.of(target.kind).get(keyOf(target))
  if (entry === undefined) throw notFound(target.kind, target.name)
  return entry
}

export function timestamp(clock: Pick<Clock, 'now'>): string {
  return `${new Date(clock.now()).toISOString().slice(0, 19)}Z`
}

/** Stores an object, unless it is a dry run. */
export function commit(
  registry: Registry,
  target: Target,
  { object, dryRun }: { readonly object: KubeObject; readonly dryRun: boolean },
): Pick<Entry, 'object' | 'text'> {
  return dryRun ? unstored(object) : registry.store.put(target.kind, keyOf(target), object)
}

export function unstored(object: KubeObject): Pick<Entry, 'object' | 'text'> {
  const { apiVersion: _version, kind: _kind, ...rest } = object
  return { object, text: JSON.stringify(rest) }
}

/** What the server sets in each new object. */
export function systemFields(registry: Registry): MetaChange {
  return {
    uid: newUid(registry.clock, registry.store.revision + 1),
    creationTimestamp: timestamp(registry.clock),
    resourceVersion: undefined,
    deletionTimestamp: undefined,
    deletionGracePeriodSeconds: undefined,
    selfLink: undefined,
  }
}
