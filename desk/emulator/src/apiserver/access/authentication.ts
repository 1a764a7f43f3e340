import type { Clock } from '@csi-sidecars/base'
import { ApiFailure } from '../http/api-failure.ts'
import { newUid } from '../storage/uid.ts'

/** A user, as a TokenReview describes it. */
export interface AuthenticatedUser {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

export const AUTHENTICATED = 'system:authenticated'
export const ALL_SERVICE_ACCOUNTS = 'system:serviceaccounts'

/** A token and its user. */
export interface TokenGrant {
  readonly token: string
  readonly user: string
  readonly uid?: string
  readonly groups?: readonly string[]
}

interface Issued {
  readonly user: AuthenticatedUser
  /** The expiry of the token, in milliseconds since 1970. Undefined if the token never expires. */
  readonly expires: number | undefined
}

const ADMIN: AuthenticatedUser = { name: 'admin', groups: ['system:masters', AUTHENTICATED] }
const ANONYMOUS: AuthenticatedUser = { name: 'system:anonymous', groups: ['system:unauthenticated'] }

/** Authenticates requests by bearer token. The options list fixed tokens; service accounts get temporary tokens. */
export class Authentication {
  readonly #clock: Clock
  readonly #tokens = new Map<string, Issued>()
  readonly #withoutToken: AuthenticatedUser

  /** If `open` is true, a request without a token has the rights of the administrator. */
  constructor(options: { clock: Clock; adminToken: string; grants?: readonly TokenGrant[]; open: boolean }) {
    this.#clock = options.clock
    this.#withoutToken = options.open ? ADMIN : ANONYMOUS
    this.#tokens.set(options.adminToken, { user: ADMIN, expires: undefined })
    for (const { token, user, uid, groups = [] } of options.grants ?? []) {
      const uidField = uid === undefined ? {} : { uid }
      this.#tokens.set(token, {
        user: { name: user, ...uidField, groups: [...groups, AUTHENTICATED] },
        expires: undefined,
      })
    }
  }

  /** Returns the user of an Authorization header. Throws 401 if the token is unknown or has expired. */
  userOf(header: string | undefined): AuthenticatedUser {
    const [, token] = /^bearer +(.+)$/i.exec(header ?? '') ?? []
    if (token === undefined) return this.#withoutToken
    const user = this.userOfToken(token)
    if (user === undefined) throw new ApiFailure('Unauthorized', 'Unauthorized')
    return user
  }

  userOfToken(token: string): AuthenticatedUser | undefined {
    const issued = this.#tokens.get(token)
    if (issued?.expires !== undefined && issued.expires <= this.#clock.now()) {
      this.#tokens.delete(token)
      return undefined
    }
    return issued?.user
  }

  /** Creates a token that expires after `seconds`, for a service account. */
  issue(
    account: { namespace: string; name: string; uid: string },
    seconds: number,
  ): { token: string; expires: number } {
    const { namespace, name, uid } = account
    const token = `emulator.${newUid(this.#clock, this.#tokens.size)}`
    const expires = this.#clock.now() + seconds * 1000
    const groups = [ALL_SERVICE_ACCOUNTS, `${ALL_SERVICE_ACCOUNTS}:${namespace}`, AUTHENTICATED]
    const user = { name: `system:serviceaccount:${namespace}:${name}`, uid, groups }
    this.#tokens.set(token, { user, expires })
    return { token, expires }
  }
}
