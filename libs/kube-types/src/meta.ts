import type { V1ListMeta, V1ObjectMeta, V1OwnerReference } from '@kubernetes/client-node'
import type { Wire } from './wire.ts'

export type ObjectMeta = Wire<V1ObjectMeta>
export type ListMeta = Wire<V1ListMeta>
export type OwnerReference = Wire<V1OwnerReference>

/** What every object of the API has. */
export interface KubeObject {
  readonly apiVersion?: string | undefined
  readonly kind?: string | undefined
  readonly metadata?: ObjectMeta | undefined
}

/** One page of a list. */
export interface KubeList<T> {
  readonly apiVersion?: string | undefined
  readonly kind?: string | undefined
  readonly metadata?: ListMeta | undefined
  readonly items: readonly T[]
}

/** Names one object of a resource; the namespace is absent for a cluster's own. */
export interface ObjectRef {
  readonly name: string
  readonly namespace?: string | undefined
}
