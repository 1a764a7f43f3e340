import type { V1ListMeta, V1ObjectMeta } from '@kubernetes/client-node'
import type { Wire } from './wire.ts'

export type ObjectMeta = Wire<V1ObjectMeta>
/** The metadata of a list, which the generated readers use. @public */
export type ListMeta = Wire<V1ListMeta>

/** The fields that every object of the API has. */
export interface KubeObject {
  readonly apiVersion?: string | undefined
  readonly kind?: string | undefined
  readonly metadata?: ObjectMeta | undefined
}

/** Names one object of a resource; the namespace is absent for a cluster's own. */
export interface ObjectRef {
  readonly name: string
  readonly namespace?: string | undefined
}
