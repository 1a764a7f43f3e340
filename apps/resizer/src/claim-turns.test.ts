import { CancelledError, FakeClock } from '@csi-sidecars/base'
import { expect, it } from '@jest/globals'
import { ClaimTurns } from './claim-turns.ts'

const never = new AbortController().signal

it('turns of one key come one after the other, in the order in which they were asked for', async () => {
  const clock = new FakeClock()
  const turns = new ClaimTurns()
  const seen: string[] = []
  const turn = (name: string) =>
    turns.take('a', never, async () => {
      seen.push(`${name} begins`)
      await clock.sleep(10)
      seen.push(`${name} ends`)
    })
  const all = Promise.all([turn('first'), turn('second'), turn('third')])
  await clock.advance(30)
  await all
  expect(seen).toEqual(['first begins', 'first ends', 'second begins', 'second ends', 'third begins', 'third ends'])
  expect(turns.size).toBe(0)
})

it('turns of different keys do not wait for each other', async () => {
  const turns = new ClaimTurns()
  const held = Promise.withResolvers<void>()
  const first = turns.take('a', never, () => held.promise)
  expect(await turns.take('b', never, async () => 'done')).toBe('done')
  held.resolve()
  await first
})

it('a turn that fails lets the next one begin, and its failure through', async () => {
  const turns = new ClaimTurns()
  const first = turns.take('a', never, async () => {
    throw new Error('broken')
  })
  const second = turns.take('a', never, async () => 'done')
  await expect(first).rejects.toThrow('broken')
  expect(await second).toBe('done')
})

it('one that gives up is not run, and nobody overtakes those in front of it', async () => {
  const clock = new FakeClock()
  const turns = new ClaimTurns()
  const held = Promise.withResolvers<void>()
  const seen: string[] = []
  const given = new AbortController()
  const first = turns.take('a', never, () => held.promise)
  const second = turns.take('a', given.signal, async () => seen.push('second'))
  const third = turns.take('a', never, async () => seen.push('third'))
  given.abort(new CancelledError('enough'))
  await expect(second).rejects.toThrow('enough')
  await clock.settle()
  expect(seen).toEqual([])
  held.resolve()
  await Promise.all([first, third])
  expect(seen).toEqual(['third'])
  expect(turns.size).toBe(0)
})

it('one that is given up before it begins is not run', async () => {
  const turns = new ClaimTurns()
  const given = AbortSignal.abort(new CancelledError('enough'))
  await expect(turns.take('a', given, async () => 'done')).rejects.toThrow('enough')
  expect(turns.size).toBe(0)
})
