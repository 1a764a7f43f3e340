import type { KubeClient } from '@csi-sidecars/kube-client'
import type { StartContext } from '../../process.ts'
import type { Guard } from '../listener.ts'
import { guardOf } from './guard.ts'
import { Reviews } from './reviews.ts'
import type { Security } from './security.ts'
import { securitySettings } from './settings.ts'
import { openTls } from './tls.ts'

/** Reads what the flags name. Throws what is wrong with it. */
export async function openSecurity({ standard, host, clock, log, atEnd }: StartContext): Promise<Security> {
  const { tls: settings, authorize, alwaysAllow } = securitySettings(standard.values)
  const tls = settings && (await openTls(settings, { clock, log, hostName: host.hostName }))
  if (tls !== undefined) atEnd(tls.stop)
  if (authorize && tls === undefined) log.warn('--authorize-metrics without TLS: tokens come over plain HTTP')
  const guarded = authorize || settings?.clientCaFile !== undefined
  return {
    secure: tls?.create,
    guard: (client: () => KubeClient): Guard | undefined => {
      if (!guarded) return undefined
      const reviews = authorize ? new Reviews(clock, client) : undefined
      return guardOf({ alwaysAllow, authorities: () => tls?.authorities(), reviews, clock, log })
    },
  }
}
