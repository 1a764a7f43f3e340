import type { Logger } from '@csi-sidecars/telemetry'
import type { HandshakeTable } from '../driver/handshake-table.ts'
import type { AppControllers, StartTable } from './app.ts'
import type { DriverAppInstance } from './driver-app.ts'
import type { SidecarInstance } from './instance.ts'

/** What is to be started: one app or several, in the order and with the messages of one table. */
export interface StartPlan {
  readonly instances: readonly SidecarInstance[]
  readonly driverApps?: readonly DriverAppInstance[]
  readonly table: StartTable
  readonly handshake: HandshakeTable
  /** One Lease for all of them, instead of their own. */
  readonly singleLease?: string
}

/** Whether any app takes part in a leader election. */
export function electsLeader({ instances }: StartPlan): boolean {
  return instances.some(({ standard }) => standard.values['leader-election'])
}

/** An app with the controllers that it selects for this driver. */
export interface SelectedControllers extends AppControllers {
  readonly instance: SidecarInstance
  readonly log: Logger
}
