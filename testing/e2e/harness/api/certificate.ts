import { execFileSync } from 'node:child_process'

export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** Creates a self-signed certificate for 127.0.0.1. */
export function selfSigned(): Certificate {
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=e2e', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost']
  const text = execFileSync('openssl', [...args, ...names, '-keyout', '-'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return { cert: block(text, 'CERTIFICATE'), key: block(text, 'PRIVATE KEY') }
}

function block(text: string, what: string): string {
  const found = new RegExp(`-----BEGIN ${what}-----[^]*-----END ${what}-----\\n`).exec(text)?.[0]
  if (found === undefined) throw new Error(`openssl wrote no ${what}`)
  return found
}
