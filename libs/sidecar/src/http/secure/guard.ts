import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Logger } from '@csi-sidecars/telemetry'
import { type EndpointGuard, type EndpointReply, ERROR_HEADERS } from '../listener.ts'
import type { ReviewedUser, Reviews } from './reviews.ts'

/** Who may read which path of a protected server. */
export interface GuardOptions {
  /** The paths that every client may read. A path that ends with /* covers all paths below it. */
  readonly alwaysAllow: readonly string[]
  /** Sends reviews to the API server. Undefined: tokens are invalid, and client certificates allow all requests. */
  readonly reviews: Reviews | undefined
  readonly log: Logger
}

const UNAUTHORIZED: EndpointReply = {
  status: 401,
  body: 'Unauthorized\n',
  headers: { ...ERROR_HEADERS, 'WWW-Authenticate': 'Bearer' },
}
const UNAVAILABLE: EndpointReply = {
  status: 503,
  body: 'the API server does not say whether this is allowed\n',
  headers: ERROR_HEADERS,
}

/** Returns a guard that first authenticates the client and then authorizes its request. */
export function createGuard({ alwaysAllow, reviews, log }: GuardOptions): EndpointGuard {
  const open = new Set(alwaysAllow.filter((path) => !path.endsWith('/*')))
  const openPrefixes = alwaysAllow.filter((path) => path.endsWith('/*')).map((path) => path.slice(0, -1))
  let hasLoggedError = false
  const review = async (request: IncomingMessage, path: string): Promise<EndpointReply | undefined> => {
    const user = userOfCertificate(request.socket) ?? (await userOfToken(request, reviews))
    if (user === undefined) return UNAUTHORIZED
    if (reviews === undefined) return undefined
    const verb = request.method?.toLowerCase() ?? ''
    return (await reviews.allows(user, verb, path)) ? undefined : forbidden(user, verb, path)
  }
  return async (request, path) => {
    if (open.has(path) || openPrefixes.some((start) => path.startsWith(start))) return undefined
    try {
      const refusal = await review(request, path)
      hasLoggedError = false
      return refusal
    } catch (error) {
      // Scrapers repeat their requests, so a lasting failure is logged once.
      if (!hasLoggedError) log.error(error, 'Requests to the HTTP endpoint cannot be reviewed', { path })
      hasLoggedError = true
      return UNAVAILABLE
    }
  }
}

/**
 * Returns the user in a client certificate that the handshake has verified: the common name, with the organizations
 * as groups, as in Kubernetes.
 */
function userOfCertificate(socket: Socket): ReviewedUser | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined
  const { CN, O } = socket.getPeerCertificate().subject
  const username = textsOf(CN).at(-1) ?? ''
  if (username === '') return undefined
  return { username, groups: [...textsOf(O), AUTHENTICATED] }
}

function textsOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return []
  return typeof value === 'string' ? [value] : value
}

async function userOfToken(
  { headers }: IncomingMessage,
  reviews: Reviews | undefined,
): Promise<ReviewedUser | undefined> {
  const [, token] = /^bearer +(\S+)$/i.exec(headers.authorization?.trim() ?? '') ?? []
  if (token === undefined || reviews === undefined) return undefined
  const user = await reviews.userOf(token)
  return user && { ...user, groups: withAuthenticated(user.groups) }
}

/** Adds the group of all authenticated users, as the API server does. */
function withAuthenticated(groups: readonly string[] = []): readonly string[] {
  return groups.includes(AUTHENTICATED) ? groups : [...groups, AUTHENTICATED]
}

const AUTHENTICATED = 'system:authenticated'

function forbidden({ username }: ReviewedUser, verb: string, path: string): EndpointReply {
  const text = `Forbidden: User ${JSON.stringify(username)} cannot ${verb} path ${JSON.stringify(path)}\n`
  return { status: 403, body: text, headers: ERROR_HEADERS }
}
