import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Authorities } from './certificates.ts'
import type { User } from './user.ts'

/** Far beyond any chain that OpenSSL accepts. */
const LONGEST_CHAIN = 20

/**
 * The user of a connection by its certificate. OpenSSL has verified it in the handshake. Each request checks again what
 * may have changed since, because a scraper keeps its connection: the authorities, and the time.
 */
export function userOfCertificate(socket: Socket, authorities: Authorities | undefined, now: number): User | undefined {
  if (authorities === undefined || !(socket instanceof TLSSocket) || !socket.authorized) return undefined
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined || Date.parse(certificate.validTo) < now) return undefined
  return isSignedBy(certificate, authorities.all) ? userOf(socket) : undefined
}

/** Whether one of the chain is from an authority. */
function isSignedBy(certificate: X509Certificate, authorities: readonly X509Certificate[]): boolean {
  let link: X509Certificate | undefined = certificate
  for (let length = 0; link !== undefined && length < LONGEST_CHAIN; length += 1) {
    for (const authority of authorities) {
      if (link.checkIssued(authority) && link.verify(authority.publicKey)) return true
    }
    link = link.issuerCertificate
  }
  return false
}

/** As Kubernetes reads a subject: the common name is the user, the organizations are the groups. */
function userOf(socket: TLSSocket): User | undefined {
  const { CN, O } = socket.getPeerCertificate().subject
  const username = textsOf(CN).at(-1) ?? ''
  if (username === '') return undefined
  return { username, groups: [...textsOf(O), 'system:authenticated'] }
}

function textsOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return []
  return typeof value === 'string' ? [value] : value
}
