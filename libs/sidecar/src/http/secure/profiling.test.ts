import { once } from 'node:events'
import { connect } from 'node:net'
import { FakeClock } from '@csi-sidecars/base/testing'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { afterEach, describe, expect, test } from '@jest/globals'
import type { HttpServer } from '../listener.ts'
import { startProfiling } from './profiling.ts'

let server: HttpServer | undefined
let clock: FakeClock
afterEach(async () => {
  await server?.close()
  server = undefined
})

async function start(): Promise<void> {
  clock = new FakeClock()
  server = await startProfiling({ address: '127.0.0.1:0', clock, log: recordingLogger() })
}

const get = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${server?.port}${path}`)

/** Until the clock has a sleeper: the server is recording a profile. */
async function underWay(): Promise<void> {
  while (clock.pending === 0) await get('/none')
}

test('a CPU profile is of the seconds that were asked for', async () => {
  await start()
  const answer = get('/debug/profile?seconds=3')
  await underWay()
  await clock.advance(2_999)
  expect(clock.pending).toBe(1)
  await clock.advance(1)
  const profile = await (await answer).json()
  expect(profile).toMatchObject({ nodes: expect.anything(), startTime: expect.any(Number), samples: expect.anything() })
})

test('one is recorded at a time; a client that disconnects makes room for the next', async () => {
  await start()
  const socket = connect(server?.port ?? 0, '127.0.0.1')
  socket.write('GET /debug/profile?seconds=60 HTTP/1.1\r\nHost: x\r\n\r\n')
  await underWay()
  expect((await get('/debug/profile')).status).toBe(409)
  socket.destroy()
  await once(socket, 'close')
  while (clock.pending > 0) await get('/none')
  const answer = get('/debug/profile?seconds=1')
  await underWay()
  await clock.advance(1_000)
  expect((await answer).status).toBe(200)
})

test.each(['0', '-1', '61', 'x', 'NaN', 'Infinity'])('seconds=%s is refused', async (seconds) => {
  await start()
  expect((await get(`/debug/profile?seconds=${seconds}`)).status).toBe(400)
})

test('the summary of the heap is numbers', async () => {
  await start()
  const { process, heap, spaces } = (await (await get('/debug/heap')).json()) as Record<string, unknown>
  expect(process).toMatchObject({ rss: expect.any(Number), heapUsed: expect.any(Number) })
  expect(heap).toMatchObject({ used_heap_size: expect.any(Number) })
  expect(spaces).toEqual(expect.arrayContaining([expect.objectContaining({ space_name: 'old_space' })]))
})

describe('an address', () => {
  const listen = (address: string): Promise<HttpServer> =>
    startProfiling({ address, clock: new FakeClock(), log: recordingLogger() })

  test.each([':6060', '0.0.0.0:6060', '10.0.0.1:6060', '[::]:6060', 'example.com:6060', '127.0.0.1.example.com:80'])(
    '%s is refused',
    async (address) => {
      await expect(listen(address)).rejects.toThrow('profiles are for loopback addresses only')
    },
  )

  test.each(['127.0.0.1:0', 'localhost:0', '127.1.2.3:0'])('%s is taken', async (address) => {
    server = await listen(address)
    expect(server.port).toBeGreaterThan(0)
  })
})
