import { CODES } from '@csi-sidecars/csi'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { claim, NAMESPACE, pod, volume } from '../src/testing/builders.ts'
import { failing } from '../src/testing/fake-driver.ts'
import { type FixtureOptions, ResizerFixture } from '../src/testing/fixture.ts'

let fixture: ResizerFixture

const refusing = failing(CODES.FailedPrecondition, 'the volume is in use')

async function begin(options: FixtureOptions = {}): Promise<void> {
  fixture = new ResizerFixture(options)
  fixture.cluster.store(PERSISTENT_VOLUMES, volume())
  fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim())
  fixture.cluster.store(PODS, pod('web', 'data'))
  await fixture.start()
  fixture.driver.expand = refusing
}

/** Lets `seconds` pass. Returns the recorded calls to the driver as seconds from the start, and clears the record. */
async function callsWithin(seconds: number): Promise<readonly number[]> {
  const start = fixture.clock.monotonic()
  await fixture.clock.advance(seconds * 1000)
  return fixture.driver.calls.splice(0).map(({ at }) => (at - start) / 1000)
}

async function endPod(name = 'web'): Promise<void> {
  fixture.cluster.delete(PODS, { namespace: NAMESPACE, name })
  await fixture.clock.settle()
}

beforeEach(async () => {
  await begin()
  await fixture.request('2Gi')
})

describe('detaching volume', () => {
  it('after the last pod has ended, the resizer retries a refused expansion often for six minutes', async () => {
    await fixture.clock.advance(100_000)
    fixture.driver.calls.splice(0)
    await endPod()
    expect(await callsWithin(50)).toEqual([0, 1, 3, 7, 15, 23, 31, 39, 47])
    fixture.takePodRequests()
    await callsWithin(305)
    expect(fixture.takePodRequests()).toEqual([])
    expect(await callsWithin(1000)).toEqual([4, 12, 312, 612, 912])
    // The watch of the pods ends after six minutes. From then on each try lists the pods.
    expect(fixture.takePodRequests()).toEqual(Array.from({ length: 3 }, () => 'watch ns'))
    expect(fixture.cluster.watches('pods')).toBe(0)
  })

  it('the resizer retries a refused expansion soon even if the last pod ends during the call', async () => {
    await begin()
    fixture.driver.expand = (call) => {
      fixture.cluster.delete(PODS, { namespace: NAMESPACE, name: 'web' })
      return refusing(call)
    }
    await fixture.request('2Gi')
    expect(await callsWithin(50)).toEqual([0, 1, 3, 7, 15, 23, 31, 39, 47])
  })

  it.each([
    [3_000, [0, 1, 3, 6, 9, 12, 15]],
    [500, [0, 0.5, 1, 1.5, 2]],
  ])('after the last pod, no retry waits longer than `--retry-interval-max`: %s', async (retryMaxMs, seconds) => {
    await begin({ settings: { retryMaxMs, retryStartMs: Math.min(retryMaxMs, 1_000) } })
    fixture.driver.expand = refusing
    await fixture.request('2Gi')
    fixture.driver.calls.splice(0)
    await endPod()
    expect((await callsWithin(16)).slice(0, seconds.length)).toEqual(seconds)
  })

  it('a refused expansion of an unused volume is retried after the pause that the driver requests', async () => {
    fixture.driver.expand = failing(CODES.FailedPrecondition, 'the volume is in use', 20_000)
    fixture.driver.calls.splice(0)
    await endPod()
    expect(await callsWithin(50)).toEqual([0, 20, 40])
  })

  it('a new pod stops the retries of a refused expansion, and they start again when the pod ends', async () => {
    await endPod()
    await fixture.clock.advance(100_000)
    fixture.cluster.store(PODS, pod('next', 'data'))
    await fixture.clock.advance(100_000)
    fixture.driver.calls.splice(0)
    await fixture.clock.advance(1_000)
    expect(fixture.driver.calls).toEqual([])
    await endPod('next')
    expect(await callsWithin(20)).toEqual([0, 1, 3, 7, 15])
  })
})
