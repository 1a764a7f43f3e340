import type { V1Lease } from '@kubernetes/client-node'
import type { Wire } from './wire.ts'

export type Lease = Wire<V1Lease>
