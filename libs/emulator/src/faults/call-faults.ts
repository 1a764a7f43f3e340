import type { Clock } from '@csi-sidecars/base'
import type { status } from '@grpc/grpc-js'
import { type FaultRuleFor, FaultRules, sameFields } from './fault-rules.ts'

/** The name of a status code, such as `NOT_FOUND`. */
export type GrpcCodeName = keyof typeof status

/** Which calls a rule is about. */
export interface DriverMatch {
  /** `ControllerPublishVolume`, ... */
  readonly method?: string
  /** The volume of the call; for CreateSnapshot the source volume. */
  readonly volumeId?: string
  readonly nodeId?: string
  /** The name that CreateVolume, CreateSnapshot or CreateVolumeGroupSnapshot requests. */
  readonly name?: string
  /** The ID of a snapshot or of a group snapshot. */
  readonly snapshotId?: string
}

/** The reaction to a call. With `applied` the call takes effect first, and only its answer is lost or replaced. */
export type DriverResponse =
  | {
      readonly do: 'fail'
      readonly code: GrpcCodeName
      readonly message?: string
      /** Sent along as google.rpc.RetryInfo. */
      readonly retryAfterMs?: number
      readonly applied?: boolean
    }
  /** Never answers. */
  | { readonly do: 'hang'; readonly applied?: boolean }
  /** The driver dies: this call and all others in flight break, and nothing listens until it is started again. */
  | { readonly do: 'crash'; readonly applied?: boolean }

export type DriverAction =
  | DriverResponse
  /** Answers as usual, but later. */
  | { readonly do: 'delay'; readonly ms: number }

export type DriverRule = FaultRuleFor<DriverMatch, DriverAction>
export type DriverFaults = FaultRules<DriverSubject, DriverMatch, DriverAction>

/** The parts of a call that rules match. */
export interface DriverSubject {
  readonly method: string
  readonly volumeId: string | undefined
  readonly nodeId: string | undefined
  readonly name: string | undefined
  readonly snapshotId: string | undefined
}

export function createDriverFaults(clock: Clock, rules: readonly DriverRule[] = []): DriverFaults {
  return new FaultRules(clock, (subject, match) => sameFields<DriverSubject>(subject, match), rules)
}
