import type { IncomingMessage } from 'node:http'
import type { Clock } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import { ERROR_HEADERS, type Guard, type Reply } from '../listener.ts'
import { connectionOf } from '../request-gate.ts'
import type { Authorities } from './certificates.ts'
import { userOfCertificate } from './client-certificate.ts'
import type { Reviews } from './reviews.ts'
import type { User } from './user.ts'

export interface GuardOptions {
  /** Open to all clients; a path that ends with /* covers all below it. */
  readonly alwaysAllow: readonly string[]
  /** Undefined: client certificates identify no user. */
  authorities(): Authorities | undefined
  /** Undefined: tokens identify no user, and a client with a certificate may do everything. */
  readonly reviews: Reviews | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** A certificate may be accepted by the handshake of another connection, so this one is closed. */
const UNAUTHORIZED: Reply = {
  status: 401,
  body: 'Unauthorized\n',
  headers: { ...ERROR_HEADERS, 'WWW-Authenticate': 'Bearer', Connection: 'close' },
}
const UNAVAILABLE: Reply = {
  status: 503,
  body: 'the API server does not say whether this is allowed\n',
  headers: ERROR_HEADERS,
}

/** First who asks, then whether they may. */
export function guardOf({ alwaysAllow, authorities, reviews, clock, log }: GuardOptions): Guard {
  const open = new Set(alwaysAllow.filter((path) => !path.endsWith('/*')))
  const openBelow = alwaysAllow.filter((path) => path.endsWith('/*')).map((path) => path.slice(0, -1))
  let complained = false
  const review = async (request: IncomingMessage, path: string): Promise<Reply | undefined> => {
    const known = userOfCertificate(connectionOf(request), authorities(), clock.now())
    const user = known ?? (await userOfToken(request, reviews))
    if (user === undefined) return UNAUTHORIZED
    if (reviews === undefined) return undefined
    const verb = request.method?.toLowerCase() ?? ''
    return (await reviews.allows(user, verb, path)) ? undefined : forbidden(user, verb, path)
  }
  return async (request, path) => {
    if (open.has(path) || openBelow.some((start) => path.startsWith(start))) return undefined
    try {
      const refusal = await review(request, path)
      complained = false
      return refusal
    } catch (error) {
      // Scrapes come again and again; one line says it.
      if (!complained) log.error(error, 'Requests to the HTTP endpoint cannot be reviewed', { path })
      complained = true
      return UNAVAILABLE
    }
  }
}

async function userOfToken({ headers }: IncomingMessage, reviews: Reviews | undefined): Promise<User | undefined> {
  const [, token] = /^bearer +(\S+)$/i.exec(headers.authorization?.trim() ?? '') ?? []
  if (token === undefined || reviews === undefined) return undefined
  const user = await reviews.userOf(token)
  return user && { ...user, groups: withAuthenticated(user.groups) }
}

/** The group of all authenticated users, which the API server adds, too. */
function withAuthenticated(groups: readonly string[] = []): readonly string[] {
  return groups.includes(AUTHENTICATED) ? groups : [...groups, AUTHENTICATED]
}

const AUTHENTICATED = 'system:authenticated'

function forbidden({ username }: User, verb: string, path: string): Reply {
  const text = `Forbidden: User ${JSON.stringify(username)} cannot ${verb} path ${JSON.stringify(path)}\n`
  return { status: 403, body: text, headers: ERROR_HEADERS }
}
