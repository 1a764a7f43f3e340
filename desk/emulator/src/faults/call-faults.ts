import type { ServerHttp2Stream } from 'node:http2'
import type { Clock } from '@csi-sidecars/base'
import type { status } from '@grpc/grpc-js'
import { type FaultRuleFor, FaultRules, sameFields } from './fault-rules.ts'

/** The name of a status code, such as `NOT_FOUND`. */
export type GrpcCodeName = keyof typeof status

/** The calls that a rule applies to. */
export interface DriverMatch {
  /** The name of the method, such as `ControllerPublishVolume`. */
  readonly method?: string
  /** The volume of the call; for CreateSnapshot the source volume. */
  readonly volumeId?: string
  readonly nodeId?: string
  /** The name in a CreateVolume, CreateSnapshot or CreateVolumeGroupSnapshot request. */
  readonly name?: string
  /** The ID of a snapshot or of a group snapshot. */
  readonly snapshotId?: string
}

/** The fault of a call. With `applied`, the driver first performs the call, and only the answer is affected. */
export type DriverResponse =
  | {
      readonly kind: 'fail'
      readonly code: GrpcCodeName
      readonly message?: string
      /** The retry delay, which the error contains as google.rpc.RetryInfo. */
      readonly retryAfterMs?: number
      readonly applied?: boolean
    }
  /** Leaves the call unanswered. */
  | { readonly kind: 'hang'; readonly applied?: boolean }
  /** Kills the driver: all calls in flight break, and the driver does not listen until its restart. */
  | { readonly kind: 'crash'; readonly applied?: boolean }
  /** Lets a function answer with any HTTP/2 frames. The log then has the code Unknown. */
  | { readonly kind: 'raw'; readonly answer: (stream: ServerHttp2Stream) => void; readonly applied?: boolean }

export type DriverAction =
  | DriverResponse
  /** Performs the call as usual after a delay. */
  | { readonly kind: 'delay'; readonly ms: number }

export type DriverRule = FaultRuleFor<DriverMatch, DriverAction>
export type DriverFaults = FaultRules<DriverSubject, DriverMatch, DriverAction>

/** The properties of a call that fault rules compare. */
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
