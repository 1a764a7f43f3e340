import type { V1Lease, V1LeaseSpec } from '@kubernetes/client-node'
import type { Wire } from './wire.ts'

export type Lease = Wire<V1Lease>
export type LeaseSpec = Wire<V1LeaseSpec>
