import type { ConnectionOptions } from 'node:tls'
import type { Clock } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import type { OpenStream } from '../http/dial.ts'
import type { PathCheck } from '../http/path-check.ts'
import type { Credentials } from './credentials.ts'

/** Where the API server is, how to trust it and who we are. */
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
  /** That of the kubeconfig's context; undefined where it names none. */
  readonly namespace?: string | undefined
  /** Opens streams through the proxy; undefined when there is none. */
  readonly proxy: OpenStream | undefined
  /** Watches over the way to the server for all clients of this configuration; absent: each client for itself. */
  readonly path?: PathCheck | undefined
  /** Throws when it could be read and yet no client can be made of it; users see that at another step of the start. */
  check?(): void
}

/** How the server's certificate is verified. */
export interface ServerTrust {
  /** Reads the certificate authorities; undefined means the ones built into the runtime. */
  authorities(): ConnectionOptions['ca']
  /** The name the certificate must be for, where it is not the server's own. */
  readonly serverName: string | undefined
  readonly insecure: boolean
}

export interface ConfigSources {
  readonly env: NodeJS.ProcessEnv
  readonly clock: Clock
  readonly log: Logger
}
