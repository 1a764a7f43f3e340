import { CODES } from '@csi-sidecars/csi'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, type Pod } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { claim, NAMESPACE, pod, volume } from '../src/testing/builders.ts'
import { apiError } from '../src/testing/fake-cluster.ts'
import { failing, willing } from '../src/testing/fake-driver.ts'
import { type FixtureOptions, ResizerFixture } from '../src/testing/fixture.ts'

const IN_USE =
  'Warning VolumeResizeFailed: Unable to expand ns/data because CSI driver csi.example.com only supports offline ' +
  'expansion and volume is currently in-use'

let fixture: ResizerFixture

async function begin(options: FixtureOptions = {}): Promise<void> {
  fixture = new ResizerFixture(options)
  fixture.cluster.store(PERSISTENT_VOLUMES, volume())
  fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim())
  fixture.cluster.store(PODS, pod('web', 'data'))
  fixture.cluster.store(PODS, pod('other', 'another'))
  await fixture.start()
}

beforeEach(() => begin())

const refusing = failing(CODES.FailedPrecondition, 'the volume is in use')

/** Returns the number of open watches of pods. */
const watches = (): number => fixture.cluster.watches('pods')

async function changePod(change: Partial<Pod> | undefined, name = 'web'): Promise<void> {
  if (change === undefined) fixture.cluster.delete(PODS, { namespace: NAMESPACE, name })
  else fixture.cluster.edit(PODS, { namespace: NAMESPACE, name }, change)
  await fixture.clock.settle()
}

describe('online expansion', () => {
  it('the resizer sends no requests about pods if the driver expands volumes in use', async () => {
    await fixture.request('2Gi')
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
    expect(fixture.takePodRequests()).toEqual([])
  })
})

describe('refusal', () => {
  beforeEach(async () => {
    fixture.driver.expand = refusing
    await fixture.request('2Gi')
  })

  it('after a refusal, the resizer lists and watches the pods of the namespace with one request', () => {
    expect(fixture.takePodRequests()).toEqual(['watch ns'])
    expect(fixture.takeEvents().at(-1)).toContain('code = FailedPrecondition desc = the volume is in use')
  })

  it('the resizer makes no CSI call while a pod uses the volume that the driver refuses to expand', async () => {
    fixture.takeEvents()
    fixture.takePodRequests()
    fixture.driver.calls.splice(0)
    await fixture.clock.advance(3_000)
    expect(fixture.driver.calls).toEqual([])
    expect(fixture.takeEvents()).toEqual([IN_USE])
    expect(fixture.takePodRequests()).toEqual([])
    expect(fixture.errors.at(-1)).toBe(`Error syncing PVC: ${IN_USE.slice('Warning VolumeResizeFailed: '.length)}`)
  })

  it('a refused expansion is reported once in 15 minutes, and a later expansion is reported again', async () => {
    await fixture.clock.advance(10_000)
    expect(fixture.takeEvents().filter((event) => event === IN_USE)).toHaveLength(1)
    await fixture.clock.advance(20 * 60_000)
    expect(fixture.takeEvents()).toEqual([IN_USE])
    fixture.driver.expand = willing
    await changePod(undefined)
    fixture.driver.expand = refusing
    fixture.cluster.store(PODS, pod('app', 'data'))
    await fixture.request('3Gi')
    await fixture.clock.advance(3_000)
    expect(fixture.takeEvents()).toContain(IN_USE)
  })

  it.each<[name: string, change: Partial<Pod> | undefined]>([
    ['has ended', { status: { phase: 'Succeeded' } }],
    ['has failed', { status: { phase: 'Failed' } }],
    ['is deleted', undefined],
  ])('the resizer calls the driver at once when the last pod %s', async (_what, change) => {
    await fixture.clock.advance(100_000)
    fixture.driver.expand = willing
    fixture.driver.calls.splice(0)
    await changePod(change)
    expect(fixture.driver.calls).toHaveLength(1)
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('the resizer ends the watch of pods when the claim no longer waits', async () => {
    fixture.driver.expand = willing
    await changePod(undefined)
    fixture.takePodRequests()
    await changePod({ metadata: { labels: { a: 'b' } } }, 'other')
    await fixture.clock.advance(3_600_000)
    expect(fixture.takePodRequests()).toEqual([])
    expect(watches()).toBe(0)
    expect(fixture.clock.pending).toBe(0)
  })

  it('the resizer calls the driver only after the last of several pods of the volume has ended', async () => {
    fixture.cluster.store(PODS, pod('second', 'data'))
    await fixture.clock.advance(1_000)
    fixture.driver.calls.splice(0)
    await changePod(undefined)
    expect(fixture.driver.calls).toEqual([])
    await changePod({ status: { phase: 'Succeeded' } }, 'second')
    expect(fixture.driver.calls).toHaveLength(1)
  })

  it('the resizer calls the driver if the pod ends between the list and the watch of pods', async () => {
    await begin()
    fixture.driver.expand = refusing
    let watchRequests = 0
    fixture.cluster.before = ({ resource, verb }) => {
      if (resource !== 'pods' || verb !== 'watch') return
      watchRequests += 1
      if (watchRequests === 1) throw apiError(422, 'Invalid', 'streaming lists are not supported')
      fixture.driver.expand = willing
      fixture.cluster.delete(PODS, { namespace: NAMESPACE, name: 'web' })
    }
    await fixture.request('2Gi')
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('the resizer calls the driver after a pod has ended while the watch was broken', async () => {
    await fixture.clock.advance(100_000)
    await changePod({ metadata: { labels: { a: 'b' } } })
    fixture.cluster.breakWatches()
    fixture.driver.expand = willing
    await changePod(undefined)
    await fixture.clock.advance(2_000)
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('the resizer calls the driver when the pod ends, even if an earlier retry failed before its CSI call', async () => {
    await fixture.clock.advance(100_000)
    fixture.driver.calls.splice(0)
    fixture.cluster.before = ({ resource, verb }) => {
      if (resource === 'persistentvolumeclaims/status' && verb === 'patch') throw apiError(500, 'InternalError', 'no')
    }
    await fixture.clock.advance(200_000)
    fixture.cluster.before = () => undefined
    expect(fixture.takePodRequests()).toEqual(['watch ns'])
    fixture.driver.expand = willing
    await changePod(undefined)
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('the resizer calls a new driver at once, even if a pod uses the volume', async () => {
    await fixture.clock.advance(100_000)
    fixture.driver.calls.splice(0)
    fixture.driver.lose()
    fixture.driver.expand = willing
    fixture.driver.return()
    await fixture.clock.settle()
    expect(fixture.driver.calls).toHaveLength(1)
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('the resizer ends the watch of pods when the claim has reached its size', async () => {
    fixture.takePodRequests()
    fixture.cluster.edit(
      PERSISTENT_VOLUME_CLAIMS,
      { namespace: NAMESPACE, name: 'data' },
      { status: { capacity: { storage: '2Gi' } } },
    )
    await fixture.clock.settle()
    await fixture.clock.advance(3_600_000)
    expect(fixture.clock.pending).toBe(0)
    expect(watches()).toBe(0)
  })

  it('the resizer calls the driver at once for a recreated claim', async () => {
    const another = claim({ uid: 'uid-2', request: '2Gi' })
    fixture.cluster.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: NAMESPACE, name: 'data' })
    fixture.cluster.store(PERSISTENT_VOLUMES, volume({ uid: 'uid-2' }))
    fixture.driver.calls.splice(0)
    fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, another)
    await fixture.clock.settle()
    expect(fixture.driver.calls).toHaveLength(1)
  })

  it('the resizer ends the watch of pods when the process ends', async () => {
    await fixture.kill()
    expect(fixture.clock.pending).toBe(0)
    fixture.takePodRequests()
    await changePod(undefined)
    expect(fixture.takePodRequests()).toEqual([])
  })
})

describe('used claims', () => {
  it('the claim of an ephemeral volume counts as in use while its pod runs', async () => {
    const ephemeral = { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: {} } } }
    const owner = { metadata: { namespace: NAMESPACE, name: 'job' }, spec: { containers: [], volumes: [ephemeral] } }
    fixture.cluster.store(PODS, owner)
    fixture.cluster.store(PERSISTENT_VOLUMES, volume({ name: 'job-scratch' }))
    fixture.driver.expand = refusing
    fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim({ name: 'job-scratch', request: '2Gi' }))
    await fixture.clock.advance(1_000)
    expect(fixture.takeEvents().at(-1)).toContain('Unable to expand ns/job-scratch')
    fixture.driver.expand = willing
    fixture.driver.calls.splice(0)
    await changePod(undefined, 'job')
    expect(fixture.driver.calls).toHaveLength(1)
  })

  it('a claim counts as in use while a pending pod uses it', async () => {
    fixture.driver.expand = refusing
    await changePod({ status: { phase: 'Pending' } })
    await fixture.request('2Gi')
    await fixture.clock.advance(1_000)
    expect(fixture.takeEvents().at(-1)).toBe(IN_USE)
  })

  it('a claim in use shares one watch of pods with other claims of its namespace', async () => {
    fixture.cluster.store(PODS, pod('third', 'more'))
    fixture.cluster.store(PERSISTENT_VOLUMES, volume({ name: 'more' }))
    fixture.driver.expand = refusing
    fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim({ name: 'more', request: '2Gi' }))
    await fixture.request('2Gi')
    await fixture.clock.advance(60_000)
    fixture.driver.expand = willing
    await changePod(undefined)
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
    fixture.driver.calls.splice(0)
    await changePod(undefined, 'third')
    expect(fixture.driver.calls).toHaveLength(1)
  })
})

describe('unreadable pods', () => {
  it('the resizer calls the driver at each retry if it has no permission to read pods', async () => {
    fixture.cluster.before = ({ resource }) => {
      if (resource === 'pods') throw apiError(403, 'Forbidden', 'pods is forbidden')
    }
    fixture.driver.expand = refusing
    await fixture.request('2Gi')
    await fixture.clock.advance(10_000)
    expect(fixture.driver.calls).toHaveLength(4)
  })

  it('the resizer lists the pods at each retry if it may not watch them', async () => {
    fixture.cluster.before = ({ resource, verb }) => {
      if (resource === 'pods' && verb === 'watch') throw apiError(403, 'Forbidden', 'pods is forbidden')
    }
    fixture.driver.expand = refusing
    await fixture.request('2Gi')
    await fixture.clock.advance(3_000)
    expect(fixture.driver.calls).toHaveLength(1)
    fixture.driver.expand = willing
    await changePod(undefined)
    await fixture.clock.advance(4_000)
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('if the list of pods fails, the resizer calls the driver at the next retry', async () => {
    fixture.cluster.before = ({ resource }) => {
      if (resource === 'pods') throw apiError(500, 'InternalError', 'etcd is away')
    }
    fixture.driver.expand = refusing
    await fixture.request('2Gi')
    fixture.driver.expand = willing
    await fixture.clock.advance(1_000)
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })
})

describe('many claims', () => {
  it('for 100 waiting claims and 2,000 pods, the resizer lists the pods only once in an hour', async () => {
    fixture = new ResizerFixture()
    for (let index = 0; index < 100; index += 1) {
      const name = `data-${index}`
      fixture.cluster.store(PERSISTENT_VOLUMES, volume({ name }))
      fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim({ name, request: '2Gi' }))
    }
    for (let index = 0; index < 2_000; index += 1) fixture.cluster.store(PODS, pod(`web-${index}`, `data-${index}`))
    fixture.driver.expand = refusing
    await fixture.start()
    expect(fixture.driver.calls).toHaveLength(100)
    await fixture.clock.advance(3_600_000)
    expect(fixture.driver.calls).toHaveLength(100)
    expect(fixture.takePodRequests()).toEqual(['watch ns', 'watch ns'])
    await fixture.kill()
  })
})

describe('--handle-volume-inuse-error=false', () => {
  it('with --handle-volume-inuse-error=false, FailedPrecondition is a final error like any other', async () => {
    await begin({ settings: { handleInUse: false } })
    fixture.driver.expand = refusing
    await fixture.request('2Gi')
    await fixture.clock.advance(3_000)
    expect(fixture.driver.calls).toHaveLength(3)
    expect(fixture.takePodRequests()).toEqual([])
  })
})
