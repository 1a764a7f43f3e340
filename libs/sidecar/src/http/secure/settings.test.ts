import { describe, expect, test } from '@jest/globals'
import { parseFlags } from '../../flags/go-flags.ts'
import { STANDARD_FLAGS } from '../../flags/standard-flags.ts'
import { type SecuritySettings, securitySettings } from './settings.ts'

function settings(line: string): SecuritySettings {
  const parsed = parseFlags(STANDARD_FLAGS, line.split(' '))
  if (parsed.kind !== 'flags') throw new Error(line)
  return securitySettings(parsed.flags.values)
}

const PAIR = '--tls-cert-file=/c --tls-private-key-file=/k'
const SERVED = '--http-endpoint=:1'
const TLS_13 = 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256'
const DEFAULT_CIPHERS =
  `${TLS_13}:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:` +
  'ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-CHACHA20-POLY1305'

test('the TLS settings contain the values of all TLS flags', () => {
  const more = '--client-ca-file=/a --tls-min-version=VersionTLS13 --authorize-metrics'
  expect(settings(`${SERVED} ${PAIR} ${more}`)).toEqual({
    tls: {
      pair: { certFile: '/c', keyFile: '/k' },
      clientCaFile: '/a',
      minVersion: 'TLSv1.3',
      ciphers: DEFAULT_CIPHERS,
    },
    authorize: true,
    alwaysAllow: ['/healthz/leader-election', '/livez', '/readyz'],
  })
})

test('--tls-self-signed requests TLS without certificate files', () => {
  const { tls, authorize } = settings(`${SERVED} --tls-self-signed`)
  expect(tls).toEqual({ pair: undefined, clientCaFile: undefined, minVersion: 'TLSv1.2', ciphers: DEFAULT_CIPHERS })
  expect(authorize).toBe(false)
})

test('--authorize-metrics is possible with plain HTTP', () => {
  expect(settings(`${SERVED} --authorize-metrics`)).toMatchObject({ tls: undefined, authorize: true })
})

test.each(['ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-CHACHA20-POLY1305,AES256-SHA'])(
  'the server offers the requested cipher suites %s in addition to the suites of TLS 1.3',
  (names) => {
    const { tls } = settings(`${SERVED} ${PAIR} --tls-cipher-suites=${names}`)
    expect(tls?.ciphers).toBe(`${TLS_13}:${names.replace(',', ':')}`)
  },
)

test.each([
  ['/livez,/debug/*', ['/livez', '/debug/*']],
  ['/*', ['/*']],
  ['', []],
])('the flag --authorization-always-allow-paths=%s allows the paths %j', (paths, expected) => {
  expect(settings(`${SERVED} --authorization-always-allow-paths=${paths}`).alwaysAllow).toEqual(expected)
})

describe('securitySettings', () => {
  test.each([
    [`${SERVED} --tls-cert-file=/c`, '--tls-cert-file needs --tls-private-key-file'],
    [`${SERVED} --tls-private-key-file=/k`, '--tls-private-key-file needs --tls-cert-file'],
    [`${SERVED} ${PAIR} --tls-self-signed`, '--tls-self-signed excludes --tls-cert-file'],
    [PAIR, '--tls-cert-file needs --http-endpoint'],
    [`--metrics-address=:1 ${PAIR}`, '--tls-cert-file needs --http-endpoint'],
    ['--tls-self-signed', '--tls-self-signed needs --http-endpoint'],
    ['--authorize-metrics', '--authorize-metrics needs --http-endpoint'],
    [
      `${SERVED} --client-ca-file=/a`,
      '--client-ca-file needs --tls-cert-file and --tls-private-key-file, or --tls-self-signed',
    ],
    [
      `${SERVED} --tls-min-version=VersionTLS12`,
      '--tls-min-version needs --tls-cert-file and --tls-private-key-file, or --tls-self-signed',
    ],
    [
      `${SERVED} --authorize-metrics --tls-cipher-suites=x`,
      '--tls-cipher-suites needs --tls-cert-file and --tls-private-key-file, or --tls-self-signed',
    ],
    [
      `${SERVED} ${PAIR} --tls-min-version=VersionTLS11`,
      'unknown tls version "VersionTLS11": --tls-min-version is VersionTLS12 or VersionTLS13',
    ],
    [
      `${SERVED} ${PAIR} --tls-min-version=toString`,
      'unknown tls version "toString": --tls-min-version is VersionTLS12 or VersionTLS13',
    ],
    [`${SERVED} ${PAIR} --tls-cipher-suites=AES128-SHA,AES128`, "Cipher suite AES128 not supported or doesn't exist"],
    [
      `${SERVED} ${PAIR} --tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`,
      "Cipher suite TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 not supported or doesn't exist",
    ],
    [
      `${SERVED} --authorize-metrics --authorization-always-allow-paths=livez`,
      '--authorization-always-allow-paths: livez does not begin with a slash',
    ],
    [`${SERVED} --authorize-metrics --authorization-always-allow-paths=/a*`, 'only trailing /* allowed in /a*'],
    [`${SERVED} --authorize-metrics --authorization-always-allow-paths=/a/*/b`, 'only trailing /* allowed in /a/*/b'],
  ])('`securitySettings` refuses %s', (line, error) => {
    expect(() => settings(line)).toThrow(new Error(error))
  })
})
