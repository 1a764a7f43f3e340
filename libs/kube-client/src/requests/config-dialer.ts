import { createSecureContext, type SecureContext } from 'node:tls'
import { type Clock, messageOf } from '@csi-sidecars/base'
import type { ClusterConfig, Credentials, ServerTrust } from '../config/cluster-config.ts'
import { type Dial, dialer, openTcp, type TlsMaterial } from '../http/dial.ts'
import { NetworkError } from '../http/network-error.ts'

/** Returns a function that opens connections with the server, proxy and certificates of a configuration. */
export function configDialer(config: ClusterConfig, clock: Clock): Dial {
  const url = new URL(config.origin)
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  return dialer({
    address: { host: url.hostname.replace(/^\[|\]$/g, ''), port },
    open: config.proxy ?? openTcp,
    tls: config.tls && tlsMaterial(config.tls, config.credentials),
    clock,
  })
}

/** Returns the TLS options. Reads the certificates for each new connection, because they are renewed in place. */
function tlsMaterial(trust: ServerTrust, credentials: Credentials): TlsMaterial {
  const fixed = {
    rejectUnauthorized: !trust.insecure,
    ...(trust.serverName !== undefined && { servername: trust.serverName }),
  }
  let made: { readonly context: SecureContext; readonly from: string } | undefined
  return () => {
    try {
      // An empty list means no authority. Without a list, Node parses its own hundred and more authorities.
      const ca = trust.insecure ? [] : trust.authorities()
      const certificate = credentials.certificate()
      const from = JSON.stringify([ca, certificate])
      if (made?.from !== from) {
        made = { context: createSecureContext({ ...(ca !== undefined && { ca }), ...certificate }), from }
      }
    } catch (error) {
      // Reading fails if a certificate file is being replaced. The previous TLS context may still be valid.
      if (made === undefined) throw new NetworkError(messageOf(error), { cause: error })
    }
    return { ...fixed, secureContext: made.context }
  }
}
