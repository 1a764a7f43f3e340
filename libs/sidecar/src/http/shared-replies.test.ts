import { FakeClock } from '@csi-sidecars/base/testing'
import { expect, test } from '@jest/globals'
import type { Reply } from './listener.ts'
import { SharedReplies } from './shared-replies.ts'

const reply = (body: string): Reply => ({ status: 200, body })

test('one reply is made for all who ask the same, and one at a time', async () => {
  const clock = new FakeClock()
  const shared = new SharedReplies(clock)
  const made: string[] = []
  const gate = Promise.withResolvers<void>()
  const make = (body: string) => async (): Promise<Reply> => {
    made.push(body)
    if (body === 'a') await gate.promise
    return reply(body)
  }
  const asked = ['a', 'a', 'b', 'a', 'b'].map((question) => shared.get(question, make(question)))
  await clock.advance(10)
  expect(made).toEqual(['a'])
  gate.resolve()
  await clock.advance(10)
  expect(new Set(await Promise.all(asked)).size).toBe(2)
  expect(made).toEqual(['a', 'b'])
  const later = shared.get('a', make('a'))
  await clock.advance(10)
  expect(await later).not.toBe(await asked[0])
})

test('one that fails fails for all who asked, and for none of the next', async () => {
  const clock = new FakeClock()
  const shared = new SharedReplies(clock)
  const asked = [1, 2].map(() => shared.get('a', () => Promise.reject(new Error('broken'))))
  const next = shared.get('b', async () => reply('b'))
  const seen = Promise.allSettled(asked)
  await clock.advance(10)
  expect((await seen).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await clock.advance(10)
  expect((await next).body).toBe('b')
})
