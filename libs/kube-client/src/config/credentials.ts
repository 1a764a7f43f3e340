import type { ConnectionOptions } from 'node:tls'

/** The Authorization header of one request; undefined when the user has none. */
export type Authorization = string | undefined

/** Who we are to the API server. */
export interface Credentials {
  /** Returns a known token without a wait, because every request asks for it. */
  authorization(): Authorization | Promise<Authorization>
  /**
   * The server answered 401 to `used`. Resolves with whether another try makes sense: with something other than
   * `used` now at hand.
   */
  refused(used: Authorization): Promise<boolean>
  /** The client certificate, if the user has one. */
  certificate(): Certificate | undefined
}

export type Certificate = Pick<ConnectionOptions, 'cert' | 'key'>

/** A token or password from the configuration itself, or nothing. */
export function fixedCredentials(authorization: Authorization): Credentials {
  return {
    authorization: () => authorization,
    refused: () => Promise.resolve(false),
    certificate: () => undefined,
  }
}

export function bearer(token: string): string {
  return `Bearer ${token}`
}

export function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}
