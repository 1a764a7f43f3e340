import { FakeClock } from '@csi-sidecars/base/testing'
import { PODS } from '@csi-sidecars/kube-types'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { projectClaim } from '../caches/claim.ts'
import { claim, NAMESPACE, pod } from '../testing/builders.ts'
import { apiError, FakeCluster } from '../testing/fake-cluster.ts'
import { InUseRefusals } from './in-use.ts'

const never = new AbortController().signal
const data = projectClaim(claim())
const other = projectClaim(claim({ uid: 'uid-2' }))

let cluster: FakeCluster
let clock: FakeClock
let woken: string[]
let inUse: InUseRefusals
let close: () => void

function begin(backoff = { baseMs: 1_000, maxMs: 300_000 }): void {
  cluster = new FakeCluster(clock)
  clock = new FakeClock({ now: 5_000 })
  woken = []
  inUse = new InUseRefusals({ api: cluster.client, backoff, clock, log: recordingLogger() })
  close = inUse.open((key) => void woken.push(key))
}

beforeEach(() => begin())

const run = (name = 'web'): unknown => cluster.store(PODS, pod(name, 'data'))

function end(name = 'web'): Promise<void> {
  cluster.delete(PODS, { namespace: NAMESPACE, name })
  return clock.settle()
}

const refused = (): Promise<number | undefined> => inUse.pauseAfterRefusal(data, never)

/** Returns the pauses after consecutive refusals of the driver. */
async function waits(count: number): Promise<readonly (number | undefined)[]> {
  const seen: (number | undefined)[] = []
  for (let index = 0; index < count; index += 1) {
    const ms = await refused()
    seen.push(ms)
    await clock.advance(ms ?? 0)
  }
  return seen
}

describe('marks', () => {
  it('`InUseRefusals` marks one claim as in use, but not a recreated claim of the same name', () => {
    expect(inUse.wasRefused(data)).toBe(false)
    inUse.addRefusal(data)
    expect([inUse.wasRefused(data), inUse.wasRefused(other)]).toEqual([true, false])
    inUse.removeRefusal(data)
    expect(inUse.wasRefused(data)).toBe(false)
  })

  it('`InUseRefusals` unmarks a claim when the claim is deleted or the driver reconnects', () => {
    inUse.addRefusal(data)
    inUse.forget(data)
    expect(inUse.wasRefused(data)).toBe(false)
    inUse.addRefusal(data)
    inUse.onDriverReturn()
    expect(inUse.wasRefused(data)).toBe(false)
  })
})

describe('used claims', () => {
  it('`InUseRefusals` returns no pause while a pod uses the claim, and wakes the claim when the pod ends', async () => {
    run()
    expect(await inUse.isUsed(data, never)).toBe(true)
    expect(await refused()).toBeUndefined()
    await end()
    expect(woken).toEqual(['ns/data'])
    run()
    await end()
    expect(woken).toEqual(['ns/data'])
  })

  it.each<[name: string, stop: () => void]>([
    ['the claim no longer waits', () => inUse.stopWaiting(data)],
    ['the claim is gone', () => inUse.forget(data)],
    ['another driver connects', () => inUse.onDriverReturn()],
    ['the process no longer leads', () => close()],
  ])('`InUseRefusals` does not wake the claim and watches no pod if %s', async (_what, stop) => {
    run()
    await inUse.isUsed(data, never)
    stop()
    await end()
    expect(woken).toEqual([])
    expect(cluster.watches('pods')).toBe(0)
    expect(clock.pending).toBe(0)
  })

  it('a pod that ends during `isUsed` wakes its claim only if `isUsed` returns true', async () => {
    run()
    await inUse.isUsed(data, never)
    const looking = inUse.isUsed(data, never)
    cluster.delete(PODS, { namespace: NAMESPACE, name: 'web' })
    const isUsed = await looking
    await clock.settle()
    // If `isUsed` did not see the pod, its caller already knows that the claim is unused.
    expect(woken).toEqual(isUsed ? ['ns/data'] : [])
  })
})

describe('unused claims', () => {
  it('for six minutes after the last pod has ended, `InUseRefusals` returns doubling pauses of up to eight seconds', async () => {
    expect(await waits(5)).toEqual([1_000, 2_000, 4_000, 8_000, 8_000])
    await clock.advance(360_000 - 23_000 - 1)
    expect(cluster.watches('pods')).toBe(1)
    expect(await refused()).toBe(8_000)
    await clock.advance(1)
    expect(await refused()).toBe(64_000)
    await clock.settle()
    expect(cluster.watches('pods')).toBe(0)
    expect(await waits(4)).toEqual([128_000, 256_000, 300_000, 300_000])
  })

  it('the pauses of `InUseRefusals` never exceed the longest back-off', async () => {
    begin({ baseMs: 500, maxMs: 3_000 })
    expect(await waits(5)).toEqual([500, 1_000, 2_000, 3_000, 3_000])
  })

  it('the six minutes of short pauses begin when the last pod ends, not at the next refusal', async () => {
    run()
    await inUse.isUsed(data, never)
    await end()
    await clock.advance(360_000)
    expect(await refused()).toBe(1_000)
    expect(await waits(5)).toEqual([2_000, 4_000, 8_000, 16_000, 32_000])
  })

  it.each<[name: string, forget: () => unknown]>([
    [
      'a pod uses the claim again',
      async () => {
        run('next')
        await clock.settle()
        await inUse.isUsed(data, never)
        await end('next')
      },
    ],
    ['the claim was expanded', () => inUse.forget(data)],
    ['another driver connects', () => inUse.onDriverReturn()],
  ])('`InUseRefusals` starts again with the shortest pause when %s', async (_what, forget) => {
    await waits(3)
    await forget()
    expect(await refused()).toBe(1_000)
  })

  it('`InUseRefusals` starts with the shortest pause for a recreated claim', async () => {
    await waits(3)
    expect(await inUse.pauseAfterRefusal(other, never)).toBe(1_000)
  })
})

describe('unreadable pods', () => {
  it('`InUseRefusals` returns no pause if pods cannot be read, so that the usual back-off applies', async () => {
    cluster.before = () => {
      throw apiError(403, 'Forbidden', 'pods is forbidden')
    }
    expect(await inUse.isUsed(data, never)).toBe(false)
    expect(await refused()).toBeUndefined()
    cluster.before = () => undefined
    expect(await refused()).toBe(1_000)
  })
})
