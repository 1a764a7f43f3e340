import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A certificate with its key, as PEM. */
export interface Issued {
  readonly cert: string
  readonly key: string
}

/** A certificate authority for tests, which signs with openssl. */
export interface Authority extends Issued {
  /** Issues a server certificate with this common name. It is valid for `localhost` and 127.0.0.1. */
  server(name: string): Issued
  /** Issues a certificate for a client. The subject has the form of openssl: `/O=ops/CN=scraper`. */
  client(subject: string, usage?: string): Issued
  /** Creates an intermediate authority. Each certificate that it issues comes with the certificate of this authority. */
  intermediate(name: string): Authority
}

const CLIENT = 'clientAuth'

export function makeAuthority(name: string): Authority {
  return authorityOf(sign(`/CN=${name}`, ['basicConstraints=critical,CA:TRUE', 'keyUsage=keyCertSign']), '')
}

function authorityOf(issued: Issued, chain: string): Authority {
  const withChain = ({ cert, key }: Issued): Issued => ({ cert: cert + chain, key })
  return {
    ...issued,
    server: (name) => {
      const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1'
      return withChain(sign(`/CN=${name}`, [names, 'extendedKeyUsage=serverAuth'], issued))
    },
    client: (subject, usage = CLIENT) => withChain(sign(subject, [`extendedKeyUsage=${usage}`], issued)),
    intermediate: (name) => {
      const below = sign(`/CN=${name}`, ['basicConstraints=critical,CA:TRUE', 'keyUsage=keyCertSign'], issued)
      return authorityOf(below, below.cert + chain)
    },
  }
}

function sign(subject: string, extensions: readonly string[], by?: Issued): Issued {
  const folder = mkdtempSync(join(tmpdir(), 'authority-'))
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  try {
    const config = file('openssl.cnf', '[req]\ndistinguished_name = subject\n[subject]\n')
    const signer = by === undefined ? [] : ['-CA', file('ca.crt', by.cert), '-CAkey', file('ca.key', by.key)]
    const how = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-config', config]
    const subjectArgs = ['-subj', subject, ...extensions.flatMap((extension) => ['-addext', extension])]
    const text = execFileSync('openssl', ['req', '-x509', ...how, ...signer, ...subjectArgs, '-keyout', '-'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    return { cert: block(text, 'CERTIFICATE'), key: block(text, 'PRIVATE KEY') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function block(text: string, label: string): string {
  const found = new RegExp(`-----BEGIN ${label}-----[^]*-----END ${label}-----\\n`).exec(text)?.[0]
  if (found === undefined) throw new Error(`openssl wrote no ${label}`)
  return found
}
