import type { IncomingHttpHeaders } from 'node:http2'
import type { Clock } from '@csi-sidecars/base'
import { ExchangeLog } from '../exchange-log.ts'
import type { DriverMatch, DriverSubject } from '../faults/call-faults.ts'
import { sameFields } from '../faults/fault-rules.ts'

/** One call that the driver has received. */
export interface DriverCall {
  /** The name of the method, such as `ControllerPublishVolume`. */
  readonly method: string
  readonly request: Readonly<Record<string, unknown>>
  /** The headers of the client, such as `traceparent`. */
  readonly headers: IncomingHttpHeaders
  /** The monotonic time at which the call began, in milliseconds. */
  readonly start: number
  readonly end: number | undefined
  /** The time from the beginning of the call to its deadline. Undefined if the call has no deadline. */
  readonly deadlineMs: number | undefined
  /** The status code of the answer. Undefined while the call runs. */
  readonly code: number | undefined
  /** True if the deadline passed, the client gave up or the connection broke before the answer. */
  readonly isAbandoned?: boolean
  /** The message of a failure. */
  readonly message?: string
  /** The response of a successful call, for listeners only. The log does not keep it, because it may be long. */
  readonly response?: Readonly<Record<string, unknown>> | undefined
}

/** Selects calls by method, object and gRPC code. An absent field matches all calls. */
export interface CallMatch extends DriverMatch {
  /** The gRPC code of the answer. Default: any code. */
  readonly code?: number
}

/** The calls in the order in which they began. `until` also counts running calls, unless it filters by code. */
export type DriverCallLog = ExchangeLog<DriverCall, CallMatch>

export function createCallLog(clock: Clock): DriverCallLog {
  return new ExchangeLog({
    clock,
    noun: 'calls',
    fits: ({ method, code, request }, match) => sameFields({ code, ...subjectOf(method, request) }, match),
  })
}

/** Returns the properties of a call that fault rules compare. */
export function subjectOf(method: string, request: object): DriverSubject {
  const { volumeId, sourceVolumeId, nodeId, name, snapshotId, groupSnapshotId } = request as Partial<
    Readonly<Record<string, string>>
  >
  return { method, volumeId: volumeId ?? sourceVolumeId, nodeId, name, snapshotId: snapshotId ?? groupSnapshotId }
}
