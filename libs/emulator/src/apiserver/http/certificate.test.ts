import { X509Certificate } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { selfSignedCertificate } from './certificate.ts'

test('a certificate is for this machine, for now, and its own authority', () => {
  const now = Date.parse('2026-01-02T03:04:05Z')
  const { cert, key } = selfSignedCertificate(now)
  const read = new X509Certificate(cert)
  expect(read.verify(read.publicKey)).toBe(true)
  expect(read.ca).toBe(true)
  expect(read.checkIP('127.0.0.1')).toBe('127.0.0.1')
  expect(read.checkHost('localhost')).toBe('localhost')
  expect(Date.parse(read.validFrom)).toBeLessThan(now)
  expect(Date.parse(read.validTo)).toBeGreaterThan(now)
  expect(key).toContain('PRIVATE KEY')
})
