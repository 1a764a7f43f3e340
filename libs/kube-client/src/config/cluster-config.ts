import type { ConnectionOptions } from 'node:tls'
import type { Clock } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import type { OpenStream } from '../http/dial.ts'
import type { PathCheck } from '../http/path-check.ts'

/** The address of the API server, the trust in it, and our credentials. */
export interface ClusterConfig {
  /** `https://10.0.0.1:443`, without a path. The port as it is configured, or none. */
  readonly origin: string
  /** Put before every path: empty, or as `/k8s/clusters/c-1`. */
  readonly basePath: string
  /** Undefined for plain HTTP. */
  readonly tls: ServerTrust | undefined
  readonly credentials: Credentials
  /** Impersonation. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The namespace of the context in the kubeconfig. Undefined if the context has none. */
  readonly namespace?: string | undefined
  /** Opens streams through the proxy; undefined when there is none. */
  readonly proxy: OpenStream | undefined
  /** Checks the connections of all clients of this configuration. If absent, each client has a separate check. */
  readonly path?: PathCheck | undefined
  /**
   * Throws if the configuration is readable but no client can use it. Users see this error at another step of the
   * start.
   */
  check?(): void
}

/** How the server's certificate is verified. */
export interface ServerTrust {
  /** Reads the certificate authorities; undefined means the authorities of the runtime. */
  authorities(): ConnectionOptions['ca']
  /** The name that the certificate must contain, if it differs from the name of the server. */
  readonly serverName: string | undefined
  readonly insecure: boolean
}

export interface ConfigSources {
  readonly env: NodeJS.ProcessEnv
  readonly clock: Clock
  readonly log: Logger
}

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
  certificate(): ClientCertificate | undefined
}

export type ClientCertificate = Pick<ConnectionOptions, 'cert' | 'key'>

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
