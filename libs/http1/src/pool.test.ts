import { Socket } from 'node:net'
import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, describe, expect, test } from '@jest/globals'
import type { HttpConnection } from './connection.ts'
import { ConnectionPool } from './pool.ts'

let clock: FakeClock
let dials: PromiseWithResolvers<Socket>[]
let pool: ConnectionPool
beforeEach(() => {
  clock = new FakeClock()
  dials = []
  const dial = (): Promise<Socket> => {
    const dialing = Promise.withResolvers<Socket>()
    dials.push(dialing)
    return dialing.promise
  }
  pool = new ConnectionPool({ dial, clock, maxConnections: 20 })
})

const acquire = (signal?: AbortSignal): Promise<HttpConnection | string> =>
  Promise.resolve(pool.acquire(signal)).catch((error: Error) => error.message)
const open = (...at: number[]): void => {
  for (const index of at) dials[index]?.resolve(new Socket())
}

describe('many callers', () => {
  test('many callers of the pool open at most eight connections at a time', async () => {
    const waiting = Array.from({ length: 50 }, () => acquire())
    expect(dials).toHaveLength(8)
    open(0, 1, 2, 3, 4, 5, 6, 7)
    await clock.settle()
    expect(dials).toHaveLength(8)
    const first = await waiting[0]
    if (typeof first === 'string' || first === undefined) throw new Error(first)
    pool.release(first)
    expect(await waiting[8]).toBe(first)
    pool.close()
    await Promise.all(waiting)
  })

  test('the pool serves waiting callers in the order of their arrival, and skips aborted callers', async () => {
    const stop = new AbortController()
    const [a, b, c] = [acquire(), acquire(stop.signal), acquire()]
    stop.abort(new Error('enough'))
    open(0)
    const first = await a
    if (typeof first === 'string') throw new Error(first)
    expect(await b).toBe('enough')
    pool.release(first)
    expect(await c).toBe(first)
  })

  test('each failed connection attempt of the pool fails only some of the waiting callers', async () => {
    const waiting = Array.from({ length: 16 }, () => acquire())
    dials[0]?.reject(new Error('refused'))
    await clock.settle()
    const done = await Promise.race([Promise.all(waiting), clock.settle().then(() => 'still waiting')])
    expect(done).toBe('still waiting')
    for (let at = 1; at < 40; at += 1) {
      dials[at]?.reject(new Error('refused'))
      await clock.settle()
    }
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['refused']))
  })
})

test('the pool hands out the connection that was released last, so that the other connections expire', async () => {
  const [a, b] = [acquire(), acquire()]
  open(0, 1)
  const [first, second] = [await a, await b]
  if (typeof first === 'string' || typeof second === 'string') throw new Error('no connection')
  pool.release(first)
  pool.release(second)
  expect(pool.acquire()).toBe(second)
  pool.release(second)
  await clock.advance(30_000)
  expect(pool.acquire()).toBe(second)
  await clock.advance(30_000)
  expect(first.isUsable).toBe(false)
  expect(second.isUsable).toBe(true)
  expect(clock.pending).toBe(0)
})

test('the pool does not use a connection again that its peer has closed', async () => {
  const a = acquire()
  const socket = new Socket()
  dials[0]?.resolve(socket)
  const first = await a
  if (typeof first === 'string') throw new Error(first)
  pool.release(first)
  socket.emit('end')
  const next = acquire()
  expect(dials).toHaveLength(2)
  open(1)
  expect(await next).not.toBe(first)
})

test('the pool closes idle connections if the credentials change', async () => {
  const a = acquire()
  open(0)
  const first = await a
  if (typeof first === 'string') throw new Error(first)
  pool.release(first)
  pool.destroyIdle()
  expect(first.isUsable).toBe(false)
})

test('a closed pool returns no connection and closes released connections', async () => {
  const a = acquire()
  open(0)
  const first = await a
  if (typeof first === 'string') throw new Error(first)
  const waiting = acquire()
  pool.close()
  expect(await waiting).toBe('the client is closed')
  expect(await acquire()).toBe('the client is closed')
  pool.release(first)
  expect(first.isUsable).toBe(false)
  expect(clock.pending).toBe(0)
})
