import type { Driver } from '@csi-sidecars/csi'
import type { StatusList } from '../attach-detach/node-status.ts'
import type { ControllerParts } from '../control.ts'
import type { ActualStateOfWorld } from './actual-state.ts'
import type { DesiredStateOfWorld } from './desired-state.ts'
import type { Disk } from './disk.ts'
import type { Paths } from './paths.ts'

/** One node: its two states of the world and the means to bring them together. */
export interface NodeParts extends ControllerParts {
  readonly node: string
  readonly driver: Driver
  readonly desired: DesiredStateOfWorld
  readonly actual: ActualStateOfWorld
  readonly disk: Disk
  readonly paths: Paths
  readonly inUse: StatusList
}
