import { X509Certificate } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { selfSignedCertificate } from './self-signed.ts'

const NOW = Date.parse('2026-01-02T03:04:05Z')
const LOOPBACK = [
  [127, 0, 0, 1],
  [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
]

test('a self-signed certificate is valid for the given host names and number of days, and is its own authority', () => {
  const names = { commonName: 'host-1', dnsNames: ['host-1', 'localhost'], addresses: LOOPBACK }
  const { cert, key } = selfSignedCertificate({ ...names, now: NOW, days: 365 })
  const read = new X509Certificate(cert)
  expect(read.subject).toBe('CN=host-1')
  expect(read.verify(read.publicKey)).toBe(true)
  expect(read.ca).toBe(true)
  expect(['127.0.0.1', '::1', '127.0.0.2'].map((address) => read.checkIP(address))).toEqual([
    '127.0.0.1',
    '::1',
    undefined,
  ])
  expect(['host-1', 'localhost', 'other'].map((name) => read.checkHost(name))).toEqual([
    'host-1',
    'localhost',
    undefined,
  ])
  expect(read.validFromDate).toEqual(new Date('2026-01-01T03:04:05Z'))
  expect(read.validToDate).toEqual(new Date('2027-01-02T03:04:05Z'))
  expect(key).toContain('PRIVATE KEY')
})

test('a self-signed certificate shortens a long host name in its subject, but not in its alternative names', () => {
  const name = `${'a'.repeat(63)}.${'b'.repeat(63)}`
  const { cert } = selfSignedCertificate({ commonName: name, dnsNames: [name], addresses: [], now: NOW, days: 1 })
  const read = new X509Certificate(cert)
  expect(read.subject).toBe(`CN=${name.slice(0, 64)}`)
  expect(read.checkHost(name)).toBe(name)
})
