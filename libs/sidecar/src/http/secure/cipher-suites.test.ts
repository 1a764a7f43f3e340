import { getCiphers } from 'node:tls'
import { expect, test } from '@jest/globals'
import { openSslCiphers, SUITES } from './cipher-suites.ts'

test.each(Object.keys(SUITES))('%s is one that Node has', (name) => {
  const [cipher = ''] = openSslCiphers(name).split(':').slice(-1)
  expect(getCiphers()).toContain(cipher.toLowerCase())
})
