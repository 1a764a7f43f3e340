import { systemClock } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { Dispatcher } from './dispatcher.ts'

let clock: FakeClock
let reported: string[]
let dispatcher: Dispatcher<string>
beforeEach(() => {
  clock = new FakeClock()
  reported = []
  dispatcher = new Dispatcher(clock, (error, event) => reported.push(`${event}: ${String(error)}`))
})

test('every handler gets all events in order, before the emitting call returns', () => {
  const heard: string[] = []
  dispatcher.subscribe((event) => heard.push(`1 ${event}`))
  const stop = dispatcher.subscribe((event) => heard.push(`2 ${event}`))
  expect(dispatcher.emitInBatches(['a', 'b'])).toBeUndefined()
  stop()
  dispatcher.emit(['c'])
  expect(heard).toEqual(['1 a', '2 a', '1 b', '2 b', '1 c'])
})

test('a handler can subscribe twice, and each subscription ends separately', () => {
  let heard = 0
  const handler = (): void => {
    heard += 1
  }
  dispatcher.subscribe(handler)
  dispatcher.subscribe(handler)()
  dispatcher.emit(['a'])
  expect(heard).toBe(1)
})

test('an error of a handler is reported, and all handlers still get all events', () => {
  const heard: string[] = []
  dispatcher.subscribe((event) => {
    if (event === 'a') throw new Error('no')
    heard.push(`1 ${event}`)
  })
  dispatcher.subscribe((event) => heard.push(`2 ${event}`))
  dispatcher.emit(['a', 'b'])
  expect(heard).toEqual(['2 a', '1 b', '2 b'])
  expect(reported).toEqual(['a: Error: no'])
})

test('events that a handler emits are delivered after the current events', () => {
  const heard: string[] = []
  dispatcher.subscribe((event) => {
    heard.push(event)
    if (event === 'a') dispatcher.emit(['x', 'y'])
  })
  dispatcher.emit(['a', 'b'])
  dispatcher.emit(['c'])
  expect(heard).toEqual(['a', 'b', 'x', 'y', 'c'])
})

test('the dispatcher delivers the events of a change before the caller continues, even if handlers are slow', () => {
  const heard: string[] = []
  dispatcher.subscribe((event) => {
    heard.push(event)
    void clock.freeze(20)
  })
  dispatcher.emit(['a'])
  dispatcher.emit(['b', 'c'])
  expect(heard).toEqual(['a', 'b', 'c'])
})

describe('many events', () => {
  test('the dispatcher delivers many events in batches, and later events follow them', async () => {
    const heard: string[] = []
    dispatcher.subscribe((event) => {
      heard.push(event)
      void clock.freeze(4)
    })
    const done = dispatcher.emitInBatches(['a', 'b', 'c', 'd', 'e'])
    expect(heard).toEqual(['a', 'b', 'c'])
    dispatcher.emit(['f'])
    await clock.advance(10)
    await done
    expect(heard).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
    expect(clock.pending).toBe(0)
  })

  test('the dispatcher never blocks the event loop for long, even with many events', async () => {
    const real = new Dispatcher<number>(systemClock, () => undefined)
    const busy = (ms: number): void => {
      const end = systemClock.monotonic() + ms
      while (systemClock.monotonic() < end);
    }
    let slices = 0
    real.subscribe(() => busy(1))
    const done = real.emitInBatches(Array.from({ length: 60 }, (_, at) => at))
    const tick = (): void => {
      slices += 1
      cancel = systemClock.schedule(0, tick)
    }
    let cancel = systemClock.schedule(0, tick)
    await done
    cancel()
    expect(slices).toBeGreaterThan(2)
  })
})
