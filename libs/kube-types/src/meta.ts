import type { V1ListMeta, V1ObjectMeta } from '@kubernetes/client-node'
import type { Wire } from './wire.ts'

export type ObjectMeta = Wire<V1ObjectMeta>
/** For the generated readers. @public */
export type ListMeta = Wire<V1ListMeta>

/** What every object of the API has. */
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
