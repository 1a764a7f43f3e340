import { FakeClock } from '@csi-sidecars/base/testing'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { expect, test } from '@jest/globals'
import { ScriptedReviews } from '../../testing/scripted-reviews.ts'
import { ReviewCache, Reviews } from './reviews.ts'

/** Returns a `Reviews` whose API server answers each review with this status. */
function answered(status: object): Reviews {
  const { client } = new ScriptedReviews({})
  const create: KubeClient['create'] = async (_, review) => ({ ...review, status })
  return new Reviews(new FakeClock(), () => ({ ...client, create }))
}

test.each([
  [{ authenticated: true, user: { username: 'a' } }, { username: 'a' }],
  [{ authenticated: false, user: { username: 'a' } }, undefined],
  [{ user: { username: 'a' } }, undefined],
  [{ authenticated: true, user: {} }, undefined],
  [{ authenticated: true }, undefined],
  [{}, undefined],
])('a token review with the status %j identifies the user %j', async (status, user) => {
  expect(await answered(status).userOf('token')).toEqual(user)
})

test.each([
  [{ allowed: true }, true],
  [{ allowed: true, denied: false }, true],
  [{ allowed: true, denied: true }, false],
  [{ allowed: false }, false],
  [{}, false],
])('an access review with the status %j allows the request: %p', async (status, allows) => {
  expect(await answered(status).allows({ username: 'a' }, 'get', '/metrics')).toBe(allows)
})

test('users with the same name but different groups are reviewed separately', async () => {
  const api = new ScriptedReviews({}, () => true)
  const reviews = new Reviews(new FakeClock(), () => api.client)
  await reviews.allows({ username: 'a', groups: ['x'] }, 'get', '/metrics')
  await reviews.allows({ username: 'a', groups: ['y'] }, 'get', '/metrics')
  expect(api.asked).toHaveLength(2)
})

test('the result of an access review is cached for ten seconds, even a refusal', async () => {
  const clock = new FakeClock()
  const cache = new ReviewCache<boolean>(clock)
  let asked = 0
  const get = (): Promise<boolean> =>
    cache.get('key', async () => {
      asked += 1
      return false
    })
  await get()
  await clock.advance(9_999)
  await get()
  expect(asked).toBe(1)
  await clock.advance(1)
  expect(await get()).toBe(false)
  expect(asked).toBe(2)
})

test('equal requests that arrive during an access review share its result', async () => {
  const cache = new ReviewCache<string>(new FakeClock())
  const gate = Promise.withResolvers<string>()
  let asked = 0
  const get = (key: string): Promise<string> =>
    cache.get(key, () => {
      asked += 1
      return gate.promise
    })
  const all = Promise.all([get('a'), get('a'), get('b')])
  gate.resolve('yes')
  expect(await all).toEqual(['yes', 'yes', 'yes'])
  expect(asked).toBe(2)
})

test('a failed access review rejects all callers that wait for it, and is not cached', async () => {
  const cache = new ReviewCache<string>(new FakeClock())
  await expect(cache.get('a', () => Promise.reject(new Error('away')))).rejects.toThrow('away')
  expect(await cache.get('a', async () => 'back')).toBe('back')
})

test('the oldest result of an access review is dropped if the cache is full', async () => {
  const cache = new ReviewCache<number>(new FakeClock())
  const asked: string[] = []
  const get = (key: string): Promise<number> =>
    cache.get(key, async () => {
      asked.push(key)
      return 1
    })
  for (let number = 0; number < 257; number += 1) await get(`${number}`)
  asked.length = 0
  await get('1')
  await get('0')
  expect(asked).toEqual(['0'])
})

test('the process refuses a request if sixteen access reviews are already running', async () => {
  const cache = new ReviewCache<number>(new FakeClock())
  const gate = Promise.withResolvers<number>()
  const all = Array.from({ length: 16 }, (_, number) => cache.get(`${number}`, () => gate.promise))
  await expect(cache.get('one more', () => gate.promise)).rejects.toThrow('too many reviews at a time')
  gate.resolve(1)
  await Promise.all(all)
  expect(await cache.get('one more', async () => 2)).toBe(2)
})
