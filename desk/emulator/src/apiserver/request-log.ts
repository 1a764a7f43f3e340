import type { Clock } from '@csi-sidecars/base'
import { ExchangeLog } from '../exchange-log.ts'
import { sameFields } from '../faults/fault-rules.ts'
import type { Verb } from '../faults/request-faults.ts'
import type { Json } from './schema/json.ts'

/** One request and the code of its answer. */
export interface LoggedRequest {
  /** The arrival of the request, in milliseconds since 1970. */
  readonly time: number
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly verb: Verb | undefined
  /** The plural, with `/status` for the status subresource. Empty if the path is not a resource. */
  readonly resource: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly contentType: string | undefined
  readonly userAgent: string | undefined
  readonly user: string | undefined
  /** The parsed body; undefined if there is none or it cannot be parsed. */
  readonly body: Json | undefined
  /** The HTTP code of the answer. 0 if there is no answer yet, or if the connection broke. */
  readonly code: number
}

export type RequestMatch = Partial<
  Pick<LoggedRequest, 'method' | 'verb' | 'resource' | 'namespace' | 'name' | 'code' | 'user'>
>

const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/** The requests in the order of their arrival. The method `until` ignores requests without an answer. */
export class RequestLog extends ExchangeLog<LoggedRequest, RequestMatch> {
  /** `entries` is the number of requests to keep; undefined for the default of `ExchangeLog`. */
  constructor(clock: Clock, entries?: number) {
    super({
      clock,
      ...(entries === undefined ? {} : { limits: { entries } }),
      noun: 'requests',
      fits: (request, match) => sameFields<RequestMatch>(request, match),
      counts: ({ code }) => code !== 0,
    })
  }

  /** The requests that write objects, without writes of Leases and Events. */
  get writes(): readonly LoggedRequest[] {
    return this.entries.filter(
      ({ method, resource }) => WRITES.has(method) && resource !== 'leases' && resource !== 'events',
    )
  }
}
