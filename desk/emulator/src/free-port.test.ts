import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from '@jest/globals'
import { freePort } from './free-port.ts'

test('`freePort` skips a port in use', async () => {
  const before = await freePort()
  const server = createServer().listen(before + 1, '127.0.0.1')
  await once(server, 'listening')
  try {
    expect(await freePort()).toBe(before + 2)
  } finally {
    server.close()
  }
})
