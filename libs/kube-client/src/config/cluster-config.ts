import type { ConnectionOptions } from 'node:tls'
import type { Clock } from '@csi-sidecars/base'
import type { OpenStream } from '@csi-sidecars/http1'
import type { Logger } from '@csi-sidecars/telemetry'
import type { NetworkPathCheck } from '../path-check/path-check.ts'

/** The address of the API server, how to verify its certificate, and the credentials of this process. */
export interface ClusterConfig {
  /** The origin, such as `https://10.0.0.1:443`, with the port only if the configuration has one. */
  readonly origin: string
  /** The start of the path of every request, such as `/k8s/clusters/c-1`. Often empty. */
  readonly basePath: string
  /** How to verify the server. Undefined for plain HTTP. */
  readonly tls: ServerTrust | undefined
  readonly credentials: Credentials
  /** The headers of an impersonated user, which each request carries. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The namespace of the context in the kubeconfig. Undefined if the context has none. */
  readonly namespace?: string | undefined
  /** Opens connections through the proxy. Undefined if there is no proxy. */
  readonly proxy: OpenStream | undefined
  /** Finds dead connections of all clients together. Default: each client has its check. */
  readonly path?: NetworkPathCheck | undefined
  /** Throws if the configuration is readable but unusable. Called when a client is created. */
  check?(): void
}

/** How the client checks the certificate of the API server. */
export interface ServerTrust {
  /** Reads the certificate authorities; undefined means the authorities of the runtime. */
  authorities(): ConnectionOptions['ca']
  /** The name in the certificate, if it differs from the name of the server. */
  readonly serverName: string | undefined
  readonly insecure: boolean
}

/** The environment from which the configuration of the client is read, and the clock and log of the reads. */
export interface ConfigSources {
  readonly env: NodeJS.ProcessEnv
  readonly clock: Clock
  readonly log: Logger
}

/** The Authorization header of one request. Undefined if the user has no token or password. */
export type Authorization = string | undefined

/** The credentials of this process for the API server. */
export interface Credentials {
  /** Returns the Authorization header. No promise for a known token, to save time. */
  authorization(): Authorization | Promise<Authorization>
  /**
   * Called after the server has refused the credentials `used` with 401. Resolves with true if the client now has other
   * credentials, so that a retry makes sense.
   */
  replaceRefused(authorization: Authorization): Promise<boolean>
  certificate(): ClientCertificate | undefined
}

export type ClientCertificate = Pick<ConnectionOptions, 'cert' | 'key'>

/** Returns credentials that never change: a token or password in the configuration, or nothing. */
export function fixedCredentials(authorization: Authorization): Credentials {
  return {
    authorization: () => authorization,
    replaceRefused: () => Promise.resolve(false),
    certificate: () => undefined,
  }
}

export function bearer(token: string): string {
  return `Bearer ${token}`
}

export function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}
