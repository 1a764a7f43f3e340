import { FakeClock } from '@csi-sidecars/base/testing'
import { PODS, type Pod } from '@csi-sidecars/kube-types'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { pod } from '../testing/builders.ts'
import { apiError, FakeCluster } from '../testing/fake-cluster.ts'
import { PodWatch, podClaims } from './pod-watch.ts'

let clock: FakeClock
let cluster: FakeCluster
let unused: string[]
let refusals: unknown[]

beforeEach(() => {
  clock = new FakeClock()
  cluster = new FakeCluster(clock)
  unused = []
  refusals = []
})

function createWatch(namespace?: string): PodWatch {
  return new PodWatch({
    api: cluster.client,
    namespace,
    onUnused: (claim) => void unused.push(claim),
    onRefused: (error) => void refusals.push(error),
    clock,
    log: recordingLogger(),
  })
}

describe('podClaims', () => {
  const ephemeral: Pod = {
    metadata: { namespace: 'ns', name: 'job' },
    spec: {
      containers: [],
      volumes: [
        { name: 'scratch', ephemeral: {} },
        { name: 'config', configMap: { name: 'c' } },
      ],
    },
  }

  it.each<[name: string, pod: Pod, claims: readonly string[] | undefined]>([
    ['the claim of a volume of a pod', pod('web', 'data'), ['ns/data']],
    ['the claim of an ephemeral volume', ephemeral, ['ns/job-scratch']],
    ['the claim of a pending pod', pod('web', 'data', 'Pending'), ['ns/data']],
    ['no claim of a pod that has succeeded', pod('web', 'data', 'Succeeded'), undefined],
    ['no claim of a pod that has failed', pod('web', 'data', 'Failed'), undefined],
    [
      'no claim of a pod without volumes',
      { metadata: { namespace: 'ns', name: 'web' }, spec: { containers: [] } },
      undefined,
    ],
  ])('`podClaims` returns %s', (_name, each, claims) => {
    expect(podClaims(each)?.claims).toEqual(claims)
  })
})

describe('PodWatch', () => {
  it('`PodWatch` reports a claim as unused when its pod ends, not when the pod changes', async () => {
    cluster.store(PODS, pod('web', 'data', 'Pending'))
    const watch = createWatch()
    await watch.listed
    cluster.store(PODS, pod('web', 'data', 'Running'))
    await clock.settle()
    expect([watch.uses('ns/data'), unused]).toEqual([true, []])
    cluster.store(PODS, pod('web', 'data', 'Failed'))
    await clock.settle()
    expect([watch.uses('ns/data'), unused]).toEqual([false, ['ns/data']])
    watch.close()
  })

  it('after a new list, `PodWatch` reports exactly the claims that no listed pod uses', async () => {
    cluster.store(PODS, pod('web', 'data'))
    cluster.store(PODS, pod('job', 'other'))
    const watch = createWatch()
    await watch.listed
    await clock.settle()
    cluster.breakWatches()
    cluster.delete(PODS, { namespace: 'ns', name: 'web' })
    cluster.delete(PODS, { namespace: 'ns', name: 'job' })
    cluster.store(PODS, pod('later', 'other'))
    cluster.server.compact()
    await clock.advance(2_000)
    expect([unused, watch.uses('ns/data'), watch.uses('ns/other')]).toEqual([['ns/data'], false, true])
    watch.close()
  })

  it('`PodWatch` calls `onRefused` if the API server forbids the watch, and not after another failure', async () => {
    const watch = createWatch()
    await watch.listed
    let error = apiError(500, 'InternalError', 'etcd is away')
    cluster.before = () => {
      throw error
    }
    cluster.breakWatches()
    await clock.advance(10_000)
    expect(refusals).toEqual([])
    error = apiError(403, 'Forbidden', 'pods is forbidden')
    await clock.advance(60_000)
    expect(refusals[0]).toBe(error)
    watch.close()
  })

  it('a `PodWatch` that is closed before its list arrives rejects `listed` and sends no further request', async () => {
    const watch = createWatch('ns')
    watch.close()
    await expect(watch.listed).rejects.toThrow('no claim waits for a pod')
    const sent = cluster.requests.length
    await clock.advance(60_000)
    expect(cluster.requests.length).toBe(sent)
    expect([refusals, clock.pending]).toEqual([[], 0])
  })
})
