import type { Clock } from '@csi-sidecars/base'
import { type FaultRuleFor, FaultRules, sameFields } from './fault-rules.ts'

/** The verb of a request for a resource, as roles name it. */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'

/** The requests that a rule applies to. */
export interface FaultMatch {
  readonly verb?: Verb
  readonly method?: string
  /** The plural, and for a subresource both names: `volumeattachments/status`. */
  readonly resource?: string
  readonly namespace?: string
  readonly name?: string
  readonly user?: string
  /** A part of the User-Agent header. */
  readonly userAgent?: string
}

/** The fault of a request. With `applied`, the server first performs the request, and only the answer is affected. */
export type FaultResponse =
  | {
      readonly kind: 'answer'
      readonly code: number
      readonly reason?: string
      readonly message?: string
      readonly retryAfterSeconds?: number
      readonly applied?: boolean
    }
  /** Leaves the request unanswered. The connection stays open until the client gives up. */
  | { readonly kind: 'hang'; readonly applied?: boolean }
  /** Closes the connection without an answer. */
  | { readonly kind: 'cut'; readonly applied?: boolean }

export type FaultAction =
  | FaultResponse
  /** Performs the request as usual after a delay. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Starts a watch as usual, and ends it after a number of events or a time. */
  | { readonly kind: 'endWatch'; readonly afterFrames?: number; readonly afterMs?: number; readonly how?: WatchEnd }

export type WatchEnd = 'close' | 'cut' | 'expired' | 'garbage' | 'silent'

export type RequestRule = FaultRuleFor<FaultMatch, FaultAction>

/** The properties of a request that fault rules compare. */
export interface FaultSubject {
  readonly verb: Verb | undefined
  readonly method: string
  readonly resource: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly user: string | undefined
  readonly userAgent: string | undefined
}

export type Faults = FaultRules<FaultSubject, FaultMatch, FaultAction>

export function createFaults(clock: Clock, rules: readonly RequestRule[] = []): Faults {
  return new FaultRules(clock, fits, rules)
}

function fits(subject: FaultSubject, match: FaultMatch): boolean {
  const { userAgent, ...exact } = match
  if (userAgent !== undefined && subject.userAgent?.includes(userAgent) !== true) return false
  return sameFields<FaultSubject>(subject, exact)
}
