import type { Clock } from '@csi-sidecars/base'
import { FaultBook, type Rule, sameFields } from '../fault-book.ts'
import type { CodeName } from './driver-failure.ts'

/** Which calls a rule is about. */
export interface DriverMatch {
  /** `ControllerPublishVolume`, ... */
  readonly method?: string
  readonly volumeId?: string
  readonly nodeId?: string
}

/** With `applied` the call takes effect first, and only its answer is lost or replaced. */
export type DriverStrike =
  | {
      readonly do: 'fail'
      readonly code: CodeName
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
  | DriverStrike
  /** Answers as usual, but later. */
  | { readonly do: 'delay'; readonly ms: number }

export type DriverRule = Rule<DriverMatch, DriverAction>
export type DriverFaults = FaultBook<DriverSubject, DriverMatch, DriverAction>

/** What rules look at. */
export interface DriverSubject {
  readonly method: string
  readonly volumeId: string | undefined
  readonly nodeId: string | undefined
}

export function createDriverFaults(clock: Clock, rules: readonly DriverRule[] = []): DriverFaults {
  return new FaultBook(clock, (subject, match) => sameFields<DriverSubject>(subject, match), rules)
}
