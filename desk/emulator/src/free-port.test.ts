import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from '@jest/globals'
import { FreePorts, freePort } from './free-port.ts'

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

const onLinux = process.platform === 'linux' ? test : test.skip

onLinux('`freePort` skips a port that another caller has got and does not use yet', async () => {
  const first = await freePort()
  expect(await new FreePorts(first).take()).toBeGreaterThan(first)
})
