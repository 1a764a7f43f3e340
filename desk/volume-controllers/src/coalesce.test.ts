import { describe, expect, it } from '@jest/globals'
import { coalesced } from './coalesce.ts'

/** Returns a coalesced function. The test ends each run, which then resolves with the number of the run. */
function scripted(): { runs: (() => void)[]; ask: (key: string) => Promise<number>; fail: (error: Error) => void } {
  const runs: (() => void)[] = []
  let fail: (error: Error) => void = () => undefined
  const run = coalesced<number>((_key) => {
    const number = runs.length + 1
    return new Promise((resolve, reject) => {
      runs.push(() => resolve(number))
      fail = reject
    })
  })
  return { runs, ask: (key) => run(key, new AbortController().signal), fail: (error) => fail(error) }
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve()
}

describe('coalesced', () => {
  it('coalesced calls during a run share the result of the next run', async () => {
    const { runs, ask } = scripted()
    const first = ask('a')
    const others = [ask('a'), ask('a'), ask('a')]
    expect(runs).toHaveLength(1)
    runs[0]?.()
    await settle()
    expect(runs).toHaveLength(2)
    runs[1]?.()
    expect(await Promise.all([first, ...others])).toEqual([1, 2, 2, 2])
  })

  it('a coalesced call never gets the result of a run that began before the call', async () => {
    const { runs, ask } = scripted()
    const first = ask('a')
    const second = ask('a')
    runs[0]?.()
    await first
    await settle()
    const third = ask('a')
    runs[1]?.()
    await settle()
    runs[2]?.()
    expect([await second, await third]).toEqual([2, 3])
  })

  it('coalesced calls with different keys run at the same time', () => {
    const { runs, ask } = scripted()
    void ask('a')
    void ask('b')
    expect(runs).toHaveLength(2)
  })

  it('a coalesced call succeeds after an earlier run has failed', async () => {
    const { runs, ask, fail } = scripted()
    const first = ask('a')
    const second = ask('a')
    fail(new Error('no'))
    await expect(first).rejects.toThrow('no')
    await settle()
    runs[1]?.()
    expect(await second).toBe(2)
  })
})
