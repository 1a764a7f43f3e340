import { FakeClock } from '@csi-sidecars/base'
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Life } from '../control.ts'
import { Controllers } from './controllers.ts'

let clock: FakeClock
let failures: string[]
let controllers: Controllers

beforeEach(() => {
  clock = new FakeClock()
  failures = []
  controllers = new Controllers(clock, (name, error) => failures.push(`${name}: ${error.message}`))
})

const untilStopped = ({ stop }: Life): Promise<void> =>
  new Promise((resolve) => stop.addEventListener('abort', () => resolve()))
const untilCut = ({ cut }: Life): Promise<void> =>
  new Promise((resolve) => cut.addEventListener('abort', () => resolve()))

describe('controllers', () => {
  it('end when they are stopped and begin again on request', async () => {
    let lives = 0
    controllers.start('a', (life) => {
      lives += 1
      return untilStopped(life)
    })
    await controllers.restart('a')
    expect(lives).toBe(2)
    await controllers.stopAll()
    expect([failures, clock.pending]).toEqual([[], 0])
  })

  it('are cut short when they take too long to end', async () => {
    controllers.start('slow', untilCut)
    const stopped = controllers.stop('slow')
    await clock.advance(2_999)
    expect(await Promise.race([stopped.then(() => 'ended'), Promise.resolve('runs')])).toBe('runs')
    await clock.advance(1)
    await stopped
  })

  it('are told of when they end by themselves', async () => {
    controllers.start('bad', async () => {
      throw new Error('no')
    })
    await clock.settle()
    expect(failures).toEqual(['bad: no'])
  })

  it('are not begun twice', async () => {
    let lives = 0
    controllers.start('a', (life) => {
      lives += 1
      return untilStopped(life)
    })
    controllers.begin('a')
    controllers.begin('unknown')
    expect(lives).toBe(1)
    await controllers.stopAll()
  })
})
