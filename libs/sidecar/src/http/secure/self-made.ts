import type { Clock } from '@csi-sidecars/base'
import { selfSignedCertificate } from '@csi-sidecars/base/self-signed'
import type { Pair } from './certificates.ts'
import type { FileSource } from './reloaded.ts'

const DAYS = 365
/** Half of its life: no client sees an expired one. */
const RENEW_MS = (DAYS * 24 * 60 * 60 * 1000) / 2

/** 127.0.0.1 and ::1. */
const LOOPBACK = [
  [127, 0, 0, 1],
  [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
]

/** A self-signed certificate for this host; a new one in time. */
export function selfMadeSource(clock: Clock, hostName: string): FileSource<Pair> {
  let madeAt = Number.NEGATIVE_INFINITY
  let texts: readonly string[] = []
  return {
    read: async () => {
      if (clock.now() - madeAt < RENEW_MS) return texts
      madeAt = clock.now()
      const { cert, key } = selfSignedCertificate({
        commonName: hostName,
        dnsNames: [...new Set([hostName, 'localhost'])],
        addresses: LOOPBACK,
        now: madeAt,
        days: DAYS,
      })
      texts = [cert, key]
      return texts
    },
    make: ([cert = '', key = '']) => ({ cert, key }),
    loaded: 'Made a new certificate',
    refused: 'Failed to make a certificate, the one before stays',
  }
}
