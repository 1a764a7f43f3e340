import type { Clock } from '@csi-sidecars/base'
import { ExchangeLog } from '../exchange-log.ts'
import { sameFields } from '../faults/fault-rules.ts'
import type { Verb } from '../faults/request-faults.ts'
import type { Json } from './schema/json.ts'

/** One request as it arrived and as it was answered. */
export interface LoggedRequest {
  /** Wall time of its arrival. */
  readonly time: number
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly verb: Verb | undefined
  /** The plural, with `/status` for the subresource; empty for paths that are no resource. */
  readonly resource: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly contentType: string | undefined
  readonly userAgent: string | undefined
  readonly user: string | undefined
  /** Parsed when it is JSON; undefined when there is none. */
  readonly body: Json | undefined
  /** 0 until it is answered, and 0 when the connection was cut. */
  readonly code: number
}

export type RequestMatch = Partial<
  Pick<LoggedRequest, 'method' | 'verb' | 'resource' | 'namespace' | 'name' | 'code' | 'user'>
>

const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/** Every request, in the order of arrival; `until` waits for answers. */
export class RequestLog extends ExchangeLog<LoggedRequest, RequestMatch> {
  /** Without `entries` the log has the default limit. */
  constructor(clock: Clock, entries?: number) {
    super({
      clock,
      ...(entries === undefined ? {} : { limits: { entries } }),
      noun: 'requests',
      fits: (request, match) => sameFields<RequestMatch>(request, match),
      counts: ({ code }) => code !== 0,
    })
  }

  /** The requests that change objects. Leases and events are left out unless the caller asks for them. */
  get writes(): readonly LoggedRequest[] {
    return this.entries.filter(
      ({ method, resource }) => WRITES.has(method) && resource !== 'leases' && resource !== 'events',
    )
  }
}
