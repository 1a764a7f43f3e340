import type { Driver } from '@csi-sidecars/csi'
import type { StatusList } from '../attach-detach/node-status.ts'
import type { ControllerParts } from '../control.ts'
import type { ActualState } from './actual-state.ts'
import type { DesiredState } from './desired-state.ts'
import type { Disk } from './disk.ts'
import type { Paths } from './paths.ts'

/** The desired and the actual state of one node, and the parts that reconcile them. */
export interface NodeParts extends ControllerParts {
  readonly node: string
  readonly driver: Driver
  readonly desired: DesiredState
  readonly actual: ActualState
  readonly disk: Disk
  readonly paths: Paths
  readonly inUse: StatusList
}
