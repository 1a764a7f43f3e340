import type { KubeClient } from '@csi-sidecars/kube-client'
import type { StartContext } from '../../process.ts'
import type { EndpointGuard, SecureFactory } from '../listener.ts'
import { guardOf } from './guard.ts'
import { Reviews } from './reviews.ts'
import { securitySettings } from './settings.ts'
import { openTls } from './tls.ts'

/** The protection of the HTTP endpoint, as far as flags ask for it. */
export interface Security {
  /** Absent: plain HTTP. */
  readonly secure: SecureFactory | undefined
  /** Decides who is answered; undefined: all clients. The API client is only for reviews, and is created on demand. */
  guard(client: () => KubeClient): EndpointGuard | undefined
}

/** Reads the files of the flags. Throws an error that names the unusable file. */
export async function openSecurity({ standard, host, clock, log, atEnd }: StartContext): Promise<Security> {
  const { tls: settings, authorize, alwaysAllow } = securitySettings(standard.values)
  const tls = settings && (await openTls(settings, { clock, log, hostName: host.hostName }))
  if (tls !== undefined) atEnd(tls.stop)
  if (authorize && tls === undefined) log.warn('--authorize-metrics without TLS: tokens come over plain HTTP')
  const guarded = authorize || settings?.clientCaFile !== undefined
  return {
    secure: tls?.create,
    guard: (client: () => KubeClient): EndpointGuard | undefined => {
      if (!guarded) return undefined
      const reviews = authorize ? new Reviews(clock, client) : undefined
      return guardOf({ alwaysAllow, reviews, log })
    },
  }
}
