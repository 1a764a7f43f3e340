import { systemClock } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { startTestCluster } from '../testing/cluster.ts'
import { runStorm } from './storm.ts'

describe('a storm', () => {
  it('brings all pods to their nodes at once, and leaves nothing behind', async () => {
    await using test = await startTestCluster({ nodes: 3 })
    const reported = new Set<string>()
    const options = { pods: 20, clock: systemClock, onProgress: (_: number, what: string) => reported.add(what) }
    const result = await runStorm(test.cluster, options, new AbortController().signal)
    expect(result).toEqual({ runningMs: expect.any(Number), goneMs: expect.any(Number) })
    expect(test.driver.log.matching({ method: 'NodePublishVolume', code: 0 })).toHaveLength(20)
    const published = test.driver.log.matching({ method: 'ControllerPublishVolume', code: 0 })
    const perNode = ['node-1', 'node-2', 'node-3'].map(
      (node) => published.filter(({ request }) => request['nodeId'] === node).length,
    )
    expect(perNode).toEqual([7, 7, 6])
    await test.untilAll(PODS, (pods) => pods.length === 0)
    await test.untilAll(PERSISTENT_VOLUMES, (volumes) => volumes.length === 0)
    expect([
      test.api.list(PERSISTENT_VOLUME_CLAIMS),
      test.api.list(VOLUME_ATTACHMENTS),
      test.driver.volumes.all,
    ]).toEqual([[], [], []])
  })

  it('reports its progress when it comes to a standstill', async () => {
    await using test = await startTestCluster({ nodes: 1, substitutes: [] })
    const clock = new FakeClock()
    const storm = runStorm(test.cluster, { pods: 3, clock, timeoutMs: 5000 }, new AbortController().signal)
    const ended = expect(storm).rejects.toThrow(
      'the storm has come to a standstill: 0 of 3 pods are running, and no other for 5 s',
    )
    await test.untilAll(PODS, (pods) => pods.length === 3)
    await clock.advance(5000)
    await ended
  })

  it('ends when it is stopped', async () => {
    await using test = await startTestCluster({ substitutes: [] })
    const stop = new AbortController()
    const storm = runStorm(test.cluster, { pods: 3, clock: systemClock }, stop.signal)
    const ended = expect(storm).rejects.toThrow('enough')
    await test.untilAll(PODS, (pods) => pods.length === 3)
    stop.abort(new Error('enough'))
    await ended
  })
})
