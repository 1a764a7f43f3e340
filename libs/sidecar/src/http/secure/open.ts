import type { KubeClient } from '@csi-sidecars/kube-client'
import type { StartContext } from '../../process.ts'
import type { EndpointGuard, SecureFactory } from '../listener.ts'
import { createGuard } from './guard.ts'
import { Reviews } from './reviews.ts'
import { securitySettings } from './settings.ts'
import { openTls } from './tls.ts'

/** The TLS and the authorization that the flags request for the HTTP endpoint. */
export interface Security {
  /** Creates the HTTPS server. Undefined: the server uses plain HTTP. */
  readonly secure: SecureFactory | undefined
  /** Returns the check of HTTP clients. Undefined if all HTTP clients are answered. `client` creates TokenReviews. */
  guard(client: () => KubeClient): EndpointGuard | undefined
}

/** Reads the files that the flags name. Throws an error that names the unusable file. */
export async function openSecurity({ standard, host, clock, log, atEnd }: StartContext): Promise<Security> {
  const { tls: settings, authorize, alwaysAllow } = securitySettings(standard.values)
  const tls = settings && (await openTls(settings, { clock, log, hostName: host.hostName }))
  if (tls !== undefined) atEnd(tls.stop)
  if (authorize && tls === undefined) log.warn('--authorize-metrics without TLS: tokens come over plain HTTP')
  const authenticated = authorize || settings?.clientCaFile !== undefined
  return {
    secure: tls?.create,
    guard: (client: () => KubeClient): EndpointGuard | undefined => {
      if (!authenticated) return undefined
      const reviews = authorize ? new Reviews(clock, client) : undefined
      return createGuard({ alwaysAllow, reviews, log })
    },
  }
}
