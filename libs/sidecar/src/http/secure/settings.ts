import { getCiphers, type SecureVersion } from 'node:tls'
import type { StandardValues } from '../../flags/flag-checks.ts'

/** The TLS settings of a protected server, checked at the start. */
export interface TlsSettings {
  /** The certificate files. Undefined: the process creates a self-signed certificate. */
  readonly pair: { readonly certFile: string; readonly keyFile: string } | undefined
  readonly clientCaFile: string | undefined
  readonly minVersion: SecureVersion
  /** The cipher suites, as a list of names for OpenSSL. */
  readonly ciphers: string
}

/** The security settings of the HTTP endpoint. A flag is refused if another flag that it needs is missing. */
export interface SecuritySettings {
  readonly tls: TlsSettings | undefined
  readonly authorize: boolean
  readonly alwaysAllow: readonly string[]
}

const VERSIONS: Readonly<Record<string, SecureVersion>> = {
  '': 'TLSv1.2',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
}

const SUITES: ReadonlySet<string> = new Set(getCiphers())
const SUITES_OF_TLS_13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256']
/** The default for TLS 1.2: suites with forward secrecy and authenticated encryption. */
const FORWARD_SECRET = ['ECDSA', 'RSA'].flatMap((key) =>
  ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].map((cipher) => `ECDHE-${key}-${cipher}`),
)

/** Reads the settings in the flags. Throws an error that names flags that contradict each other. */
export function securitySettings(values: StandardValues): SecuritySettings {
  const needsEndpoint = (['authorize-metrics', 'tls-cert-file', 'tls-self-signed'] as const).find(
    (flag) => values[flag],
  )
  if (needsEndpoint !== undefined && values['http-endpoint'] === '')
    throw new Error(`--${needsEndpoint} needs --http-endpoint`)
  return {
    tls: tlsSettings(values),
    authorize: values['authorize-metrics'],
    alwaysAllow: values['authorization-always-allow-paths']
      .split(',')
      .filter((path) => path !== '')
      .map(checkedPath),
  }
}

function tlsSettings(values: StandardValues): TlsSettings | undefined {
  const pair = pairOf(values)
  if (pair === undefined && !values['tls-self-signed']) {
    const idle = (['client-ca-file', 'tls-min-version', 'tls-cipher-suites'] as const).find((flag) => values[flag])
    if (idle === undefined) return undefined
    throw new Error(`--${idle} needs --tls-cert-file and --tls-private-key-file, or --tls-self-signed`)
  }
  const asked = values['tls-min-version']
  const minVersion = Object.hasOwn(VERSIONS, asked) ? VERSIONS[asked] : undefined
  if (minVersion === undefined) {
    throw new Error(`unknown tls version "${asked}": --tls-min-version is VersionTLS12 or VersionTLS13`)
  }
  return {
    pair,
    clientCaFile: values['client-ca-file'] || undefined,
    minVersion,
    ciphers: ciphersOf(values['tls-cipher-suites']),
  }
}

/** Returns OpenSSL's list for --tls-cipher-suites. The suites of TLS 1.3 are always offered, as in Go. */
export function ciphersOf(flag: string): string {
  const names = flag === '' ? FORWARD_SECRET : flag.split(',')
  const unknown = names.find((name) => !SUITES.has(name.toLowerCase()))
  if (unknown !== undefined) throw new Error(`Cipher suite ${unknown} not supported or doesn't exist`)
  return [...SUITES_OF_TLS_13, ...names].join(':')
}

function pairOf(values: StandardValues): TlsSettings['pair'] {
  const certFile = values['tls-cert-file']
  const keyFile = values['tls-private-key-file']
  if (certFile === '' && keyFile === '') return undefined
  if (keyFile === '') throw new Error('--tls-cert-file needs --tls-private-key-file')
  if (certFile === '') throw new Error('--tls-private-key-file needs --tls-cert-file')
  if (values['tls-self-signed']) throw new Error('--tls-self-signed excludes --tls-cert-file')
  return { certFile, keyFile }
}

function checkedPath(path: string): string {
  if (!path.startsWith('/')) throw new Error(`--authorization-always-allow-paths: ${path} does not begin with a slash`)
  if (/\*./.test(path) || /[^/]\*$/.test(path)) throw new Error(`only trailing /* allowed in ${path}`)
  return path
}
