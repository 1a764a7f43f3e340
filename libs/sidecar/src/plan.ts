import type { Logger } from '@csi-sidecars/telemetry'
import type { AppControllers, StartTable } from './app.ts'
import type { HandshakeTable } from './handshake.ts'
import type { Member } from './member.ts'

/** What is to be started: one app or several, in the order and words of one table. */
export interface Plan {
  readonly members: readonly Member[]
  readonly table: StartTable
  /** How the process gets to know its driver. */
  readonly handshake: HandshakeTable
  /** One Lease for all of them, in the place of their own. */
  readonly singleLease?: string
}

/** Whether any app stands for a Lease. */
export function electsLeader({ members }: Plan): boolean {
  return members.some(({ standard }) => standard.values['leader-election'])
}

/** An app with what it runs for this driver. */
export interface Chosen extends AppControllers {
  readonly member: Member
  readonly log: Logger
}
