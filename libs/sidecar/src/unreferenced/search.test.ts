import { CancelledError } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { expect, it } from '@jest/globals'
import { searchRegularly } from './search.ts'

const MINUTE = 60_000

function searching(intervalMs: number, search: () => Promise<void> = async () => {}) {
  const clock = new FakeClock()
  const log = recordingLogger()
  const stop = new AbortController()
  const at: number[] = []
  const started = clock.monotonic()
  const ended = searchRegularly(
    {
      intervalMs,
      clock,
      log,
      search: async () => {
        at.push((clock.monotonic() - started) / MINUTE)
        await search()
      },
    },
    stop.signal,
  )
  return { clock, log, at, ended, end: () => stop.abort(new CancelledError('stop')) }
}

it('the first search follows five minutes after the start, and the others in the interval', async () => {
  const { clock, at, ended, end } = searching(60 * MINUTE)
  await clock.advance(130 * MINUTE)
  end()
  await ended
  expect(at).toEqual([5, 65, 125])
})

it('a shorter interval also shortens the wait for the first search', async () => {
  const { clock, at, end } = searching(MINUTE)
  await clock.advance(2 * MINUTE)
  end()
  expect(at).toEqual([1, 2])
})

it('with the interval 0 there are no searches', async () => {
  const { at, ended } = searching(0)
  await ended
  expect(at).toEqual([])
})

it('a failed search is logged, and the next search follows', async () => {
  const { clock, log, at, end } = searching(MINUTE, async () => {
    throw new Error('no')
  })
  await clock.advance(2 * MINUTE)
  end()
  expect(at).toEqual([1, 2])
  expect(log.lines.map(({ message }) => message)).toEqual([
    'Failed to list the back end for things that no object names',
    'Failed to list the back end for things that no object names',
  ])
})
