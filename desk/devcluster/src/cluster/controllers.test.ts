import { aborted } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { type Controller, KeyFeed } from '@csi-sidecars/controller'
import { silentLogger } from '@csi-sidecars/telemetry'
import { baseController } from '@csi-sidecars/volume-controllers'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { Controllers } from './controllers.ts'

let clock: FakeClock
let failures: string[]
let controllers: Controllers

beforeEach(() => {
  clock = new FakeClock()
  failures = []
  controllers = new Controllers(clock, (name, error) => failures.push(`${name}: ${error.message}`))
})

const controllerWith = (change: Partial<Controller>): Controller => ({
  ...baseController('key', { log: silentLogger }),
  workers: 1,
  sources: [],
  reconcile: async () => ({ kind: 'settled' }),
  ...change,
})

describe('Controllers', () => {
  it('a restart of the controllers of the cluster creates the controllers again', async () => {
    let created = 0
    controllers.start('a', () => {
      created += 1
      return [controllerWith({})]
    })
    await controllers.restart('a')
    expect(created).toBe(2)
    await controllers.stopAll()
    expect([failures, clock.pending]).toEqual([[], 0])
  })

  it('a controller that needs more than 3 seconds to stop is ended by force', async () => {
    const feed = new KeyFeed()
    feed.add('slow')
    const begun = Promise.withResolvers<void>()
    controllers.start('slow', () => [
      controllerWith({
        sources: [feed.source],
        reconcile: async (_key, { signal }) => {
          begun.resolve()
          await aborted(signal)
          return { kind: 'stopped' }
        },
      }),
    ])
    await begun.promise
    const stopped = controllers.stop('slow')
    await clock.advance(2_999)
    expect(await Promise.race([stopped.then(() => 'ended'), clock.settle().then(() => 'runs')])).toBe('runs')
    await clock.advance(1)
    await stopped
  })

  it('an error that ends a controller is reported with the name of the controller', async () => {
    const alongside = async (): Promise<void> => {
      throw new Error('no')
    }
    controllers.start('bad', () => [controllerWith({ alongside })])
    controllers.start('worse', () => {
      throw new Error('never')
    })
    await clock.settle()
    expect(failures.sort()).toEqual(['bad: no', 'worse: never'])
    await controllers.stopAll()
  })

  it('a request to start a running or unknown controller of the cluster has no effect', async () => {
    let created = 0
    controllers.start('a', () => {
      created += 1
      return [controllerWith({})]
    })
    controllers.begin('a')
    controllers.begin('unknown')
    expect(created).toBe(1)
    await controllers.stopAll()
  })
})
