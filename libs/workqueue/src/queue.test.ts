import { getEventListeners } from 'node:events'
import { InvariantError } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { KeyOrder } from './key-order.ts'
import { Queue } from './queue.ts'

const reason = new Error('shutting down')
const settle = (): Promise<void> => new FakeClock().settle()

/** Takes all keys that the queue hands out now. The last item is undefined if the queue is shut down. */
async function popAll(queue: Queue): Promise<(string | undefined)[]> {
  const popped: (string | undefined)[] = []
  for (;;) {
    const stop = new AbortController()
    const next = queue.get(stop.signal)
    const nothing = Symbol('nothing')
    const key = await Promise.race([next, settle().then(() => nothing)])
    if (typeof key === 'symbol') {
      stop.abort(reason)
      await expect(next).rejects.toBe(reason)
      return popped
    }
    popped.push(key)
    if (key === undefined) return popped
  }
}

describe('a queue', () => {
  test('a queue hands out keys in the order in which they were added', async () => {
    const queue = new Queue()
    for (const key of ['b', 'a', 'c']) queue.add(key)
    expect(queue.length).toBe(3)
    expect(await popAll(queue)).toEqual(['b', 'a', 'c'])
    expect([queue.length, queue.inWork]).toEqual([0, 3])
  })

  test('a queue hands out a key only once, however often the key was added before', async () => {
    const queue = new Queue()
    for (const key of ['a', 'b', 'a', 'a']) queue.add(key)
    expect(await popAll(queue)).toEqual(['a', 'b'])
  })

  test('a key that is added during its run is handed out again when the run ends', async () => {
    const queue = new Queue()
    queue.add('a')
    await popAll(queue)
    queue.add('a')
    queue.add('a')
    queue.add('b')
    expect([queue.length, await popAll(queue)]).toEqual([1, ['b']])
    queue.done('a')
    expect(await popAll(queue)).toEqual(['a'])
    queue.done('a')
    expect(await popAll(queue)).toEqual([])
    expect([queue.length, queue.inWork]).toEqual([0, 1])
  })

  test('`markSeen` cancels the planned second run of a running key', async () => {
    const queue = new Queue()
    queue.add('a')
    queue.markSeen('a')
    expect(await popAll(queue)).toEqual(['a'])
    queue.add('a')
    queue.markSeen('a')
    queue.done('a')
    expect(await popAll(queue)).toEqual([])
    queue.add('a')
    await popAll(queue)
    queue.markSeen('a')
    queue.add('a')
    queue.done('a')
    expect(await popAll(queue)).toEqual(['a'])
  })

  test('a queue serves waiting workers in the order of their arrival', async () => {
    const queue = new Queue()
    const gets = [queue.get(), queue.get(), queue.get()]
    for (const key of ['a', 'b', 'c']) queue.add(key)
    expect(await Promise.all(gets)).toEqual(['a', 'b', 'c'])
  })

  test('`done` throws for a key that is not running', () => {
    const queue = new Queue()
    queue.add('a')
    expect(() => queue.done('a')).toThrow(InvariantError)
  })

  test('the addition of a key calls `touch` of the key order only if the key already waits', async () => {
    const calls: string[] = []
    let keys: string[] = []
    const order: KeyOrder = {
      length: 0,
      push(key) {
        calls.push(`push ${key}`)
        keys.push(key)
      },
      touch: (key) => void calls.push(`touch ${key}`),
      pop() {
        const [first, ...others] = keys
        keys = others
        return first
      },
      release: (key) => void calls.push(`release ${key}`),
    }
    const queue = new Queue({ order })
    queue.add('a')
    queue.add('a')
    await queue.get()
    queue.add('a')
    queue.add('a')
    queue.done('a')
    expect(calls).toEqual(['push a', 'touch a', 'release a', 'push a'])
  })

  test('a queue hands out a waiting key when a call of `touch` allows the key to start', async () => {
    let open = false
    const keys: string[] = []
    const order: KeyOrder = {
      length: 1,
      push: (key) => void keys.push(key),
      touch: () => {
        open = true
      },
      pop: () => (open ? keys.shift() : undefined),
      release() {},
    }
    const queue = new Queue({ order })
    const got = queue.get()
    queue.add('a')
    await settle()
    queue.add('a')
    expect(await got).toBe('a')
  })
})

describe('paused', () => {
  test('a paused queue accepts keys but hands out no key until it is resumed', async () => {
    const queue = new Queue()
    const waiting = queue.get()
    queue.pause()
    queue.add('a')
    queue.add('b')
    expect(await popAll(queue)).toEqual([])
    expect(queue.length).toBe(2)
    queue.resume()
    expect(await waiting).toBe('a')
    expect(await popAll(queue)).toEqual(['b'])
  })

  test('a paused queue lets keys in work end', async () => {
    const queue = new Queue()
    queue.add('a')
    await popAll(queue)
    queue.pause()
    queue.add('a')
    queue.done('a')
    expect([queue.length, queue.inWork, await popAll(queue)]).toEqual([1, 0, []])
  })

  test('after the shutdown of a paused queue, `resume` does not open the queue again', async () => {
    const queue = new Queue()
    queue.add('a')
    queue.pause()
    queue.shutDown()
    queue.pause()
    queue.resume()
    queue.add('b')
    expect(await popAll(queue)).toEqual(['a', undefined])
  })
})

describe('aborted get', () => {
  test('an aborted `get` of a queue rejects with the reason and loses no key', async () => {
    const queue = new Queue()
    const controller = new AbortController()
    const aborted = queue.get(controller.signal)
    const served = queue.get()
    controller.abort(reason)
    await expect(aborted).rejects.toBe(reason)
    queue.add('a')
    expect(await served).toBe('a')
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  })

  test('a `get` of a queue with an aborted signal takes no key', async () => {
    const queue = new Queue()
    queue.add('a')
    await expect(queue.get(AbortSignal.abort(reason))).rejects.toBe(reason)
    expect([queue.length, queue.inWork]).toEqual([1, 0])
  })

  test('`get` of a queue removes its abort listener when it returns a key', async () => {
    const queue = new Queue()
    const controller = new AbortController()
    const got = queue.get(controller.signal)
    queue.add('a')
    controller.abort(reason)
    expect(await got).toBe('a')
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  })
})

describe('shutdown', () => {
  test('after `shutDown` a queue hands out waiting keys, refuses new keys, and then ends the workers', async () => {
    const queue = new Queue()
    queue.add('a')
    expect(queue.isShut).toBe(false)
    queue.shutDown()
    queue.add('b')
    expect(queue.isShut).toBe(true)
    expect(await popAll(queue)).toEqual(['a', undefined])
  })

  test('`shutDown` of a queue ends the waiting of all workers', async () => {
    const queue = new Queue()
    const { signal } = new AbortController()
    const gets = [queue.get(signal), queue.get()]
    queue.shutDown()
    expect(await Promise.all(gets)).toEqual([undefined, undefined])
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test('a queue still hands out a running key that was added again before `shutDown`', async () => {
    const queue = new Queue()
    queue.add('a')
    await popAll(queue)
    queue.add('a')
    queue.shutDown()
    queue.done('a')
    expect(await popAll(queue)).toEqual(['a', undefined])
  })
})

test('in any order of calls, no two workers get the same key, and no addition is lost', async () => {
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('add' as const), key: fc.constantFrom('a', 'b', 'c', 'd') }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('get' as const) }) },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constantFrom('done' as const, 'markSeen' as const), pick: fc.nat() }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constantFrom('pause' as const, 'resume' as const, 'abort' as const) }),
    },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const queue = new Queue()
      const inWork: string[] = []
      const pending = new Set<string>()
      let waiting = new AbortController()
      const get = (): void => {
        queue.get(waiting.signal).then(
          (key) => {
            if (key === undefined) return
            expect(inWork).not.toContain(key)
            expect(pending.delete(key)).toBe(true)
            inWork.push(key)
          },
          () => {},
        )
      }
      const end = (index: number): void => {
        for (const key of inWork.splice(index, 1)) queue.done(key)
      }
      for (const each of steps) {
        if (each.kind === 'add') {
          pending.add(each.key)
          queue.add(each.key)
        } else if (each.kind === 'get') get()
        else if (each.kind === 'done') end(each.pick % Math.max(inWork.length, 1))
        else if (each.kind === 'markSeen') {
          const key = inWork[each.pick % Math.max(inWork.length, 1)] ?? 'none'
          queue.markSeen(key)
          pending.delete(key)
        } else if (each.kind === 'abort') {
          waiting.abort(reason)
          waiting = new AbortController()
        } else queue[each.kind]()
        for (let turn = 0; turn < 4; turn += 1) await Promise.resolve()
        expect([queue.inWork, queue.length]).toEqual([
          inWork.length,
          [...pending].filter((key) => !inWork.includes(key)).length,
        ])
      }
      queue.resume()
      for (let round = 0; round < 20; round += 1) {
        get()
        end(0)
        await Promise.resolve()
      }
      await settle()
      expect([[...pending], inWork, queue.length, queue.inWork]).toEqual([[], [], 0, 0])
    }),
  )
})
