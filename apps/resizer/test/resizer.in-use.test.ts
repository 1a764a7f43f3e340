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
  fixture.cluster.put(PERSISTENT_VOLUMES, volume())
  fixture.cluster.put(PERSISTENT_VOLUME_CLAIMS, claim())
  fixture.cluster.put(PODS, pod('web', 'data'))
  fixture.cluster.put(PODS, pod('other', 'another'))
  await fixture.start()
}

beforeEach(() => begin())

const refusing = failing(CODES.FailedPrecondition, 'the volume is in use')

/** What was asked about pods since the last look. */
function takePodRequests(): readonly string[] {
  return fixture.cluster.requests
    .splice(0)
    .flatMap(({ verb, what, name }) => (what === 'pods' ? [`${verb} ${name}`] : []))
}

/** Watches of pods that are open. */
const watches = (): number => fixture.cluster.watches('pods')

async function changePod(change: Partial<Pod> | undefined, name = 'web'): Promise<void> {
  if (change === undefined) fixture.cluster.delete(PODS, { namespace: NAMESPACE, name })
  else fixture.cluster.edit(PODS, { namespace: NAMESPACE, name }, change)
  await fixture.clock.settle()
}

describe('a driver that expands volumes in use', () => {
  it('asks nothing about pods', async () => {
    await fixture.request('2Gi')
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
    expect(takePodRequests()).toEqual([])
  })
})

describe('a driver that refuses to expand a volume in use', () => {
  beforeEach(async () => {
    fixture.driver.expand = refusing
    await fixture.request('2Gi')
  })

  it('has the pods of the namespace listed once, and watched while the claim waits', () => {
    expect(takePodRequests()).toEqual(['list ns', 'watch ns'])
    expect(fixture.takeEvents().at(-1)).toContain('code = FailedPrecondition desc = the volume is in use')
  })

  it('is not called again as long as a pod uses the volume', async () => {
    fixture.takeEvents()
    takePodRequests()
    fixture.driver.calls.splice(0)
    await fixture.clock.advance(3_000)
    expect(fixture.driver.calls).toEqual([])
    expect(fixture.takeEvents()).toEqual([IN_USE, IN_USE])
    expect(takePodRequests()).toEqual([])
    expect(fixture.errors.at(-1)).toBe(`Error syncing PVC: ${IN_USE.slice('Warning VolumeResizeFailed: '.length)}`)
  })

  it.each<[what: string, change: Partial<Pod> | undefined]>([
    ['has ended', { status: { phase: 'Succeeded' } }],
    ['has failed', { status: { phase: 'Failed' } }],
    ['is deleted', undefined],
  ])('is called at once when the last pod %s', async (_what, change) => {
    await fixture.clock.advance(100_000)
    fixture.driver.expand = willing
    fixture.driver.calls.splice(0)
    await changePod(change)
    expect(fixture.driver.calls).toHaveLength(1)
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('has pods watched no more when the claim waits no more', async () => {
    fixture.driver.expand = willing
    await changePod(undefined)
    takePodRequests()
    await changePod({ metadata: { labels: { a: 'b' } } }, 'other')
    await fixture.clock.advance(3_600_000)
    expect(takePodRequests()).toEqual([])
    expect(watches()).toBe(0)
    expect(fixture.clock.pending).toBe(0)
  })

  it('waits for the last of several pods', async () => {
    fixture.cluster.put(PODS, pod('second', 'data'))
    await fixture.clock.advance(1_000)
    fixture.driver.calls.splice(0)
    await changePod(undefined)
    expect(fixture.driver.calls).toEqual([])
    await changePod({ status: { phase: 'Succeeded' } }, 'second')
    expect(fixture.driver.calls).toHaveLength(1)
  })

  it('notices a pod that ends between list and watch', async () => {
    await begin()
    fixture.driver.expand = refusing
    fixture.cluster.before = ({ what, verb }) => {
      if (what !== 'pods' || verb !== 'watch') return
      fixture.driver.expand = willing
      fixture.cluster.delete(PODS, { namespace: NAMESPACE, name: 'web' })
    }
    await fixture.request('2Gi')
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('notices a pod that ends while the watch is broken', async () => {
    await fixture.clock.advance(100_000)
    await changePod({ metadata: { labels: { a: 'b' } } })
    fixture.cluster.breakWatches()
    fixture.driver.expand = willing
    await changePod(undefined)
    await fixture.clock.advance(2_000)
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('is called when the pod ends though a try in between failed before it', async () => {
    await fixture.clock.advance(100_000)
    fixture.driver.calls.splice(0)
    fixture.cluster.before = ({ what, verb }) => {
      if (what === 'persistentvolumeclaims/status' && verb === 'patch') throw apiError(500, 'InternalError', 'no')
    }
    await fixture.clock.advance(200_000)
    fixture.cluster.before = () => undefined
    expect(takePodRequests()).toEqual(['list ns', 'watch ns'])
    fixture.driver.expand = willing
    await changePod(undefined)
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('is called again at once when another driver took its place, whatever pods there are', async () => {
    await fixture.clock.advance(100_000)
    fixture.driver.calls.splice(0)
    fixture.driver.lose()
    fixture.driver.expand = willing
    fixture.driver.return()
    await fixture.clock.settle()
    expect(fixture.driver.calls).toHaveLength(1)
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('has pods watched no more when the claim wants nothing more', async () => {
    takePodRequests()
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

  it('is called for another claim of the name', async () => {
    const another = claim({ uid: 'uid-2', request: '2Gi' })
    fixture.cluster.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: NAMESPACE, name: 'data' })
    fixture.cluster.put(PERSISTENT_VOLUMES, volume({ uid: 'uid-2' }))
    fixture.driver.calls.splice(0)
    fixture.cluster.put(PERSISTENT_VOLUME_CLAIMS, another)
    await fixture.clock.settle()
    expect(fixture.driver.calls).toHaveLength(1)
  })

  it('leaves nothing behind when the process ends', async () => {
    await fixture.kill()
    expect(fixture.clock.pending).toBe(0)
    takePodRequests()
    await changePod(undefined)
    expect(takePodRequests()).toEqual([])
  })
})

describe('a claim counts as used', () => {
  it('by a pod whose own volume it was made for', async () => {
    const ephemeral = { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: {} } } }
    const owner = { metadata: { namespace: NAMESPACE, name: 'job' }, spec: { containers: [], volumes: [ephemeral] } }
    fixture.cluster.put(PODS, owner)
    fixture.cluster.put(PERSISTENT_VOLUMES, volume({ name: 'job-scratch' }))
    fixture.driver.expand = refusing
    fixture.cluster.put(PERSISTENT_VOLUME_CLAIMS, claim({ name: 'job-scratch', request: '2Gi' }))
    await fixture.clock.advance(1_000)
    expect(fixture.takeEvents().at(-1)).toContain('Unable to expand ns/job-scratch')
    fixture.driver.expand = willing
    fixture.driver.calls.splice(0)
    await changePod(undefined, 'job')
    expect(fixture.driver.calls).toHaveLength(1)
  })

  it('by a pod that waits for a node, not by one that has ended', async () => {
    fixture.driver.expand = refusing
    await changePod({ status: { phase: 'Pending' } })
    await fixture.request('2Gi')
    await fixture.clock.advance(1_000)
    expect(fixture.takeEvents().at(-1)).toBe(IN_USE)
  })

  it('together with others of its namespace, under one watch', async () => {
    fixture.cluster.put(PODS, pod('third', 'more'))
    fixture.cluster.put(PERSISTENT_VOLUMES, volume({ name: 'more' }))
    fixture.driver.expand = refusing
    fixture.cluster.put(PERSISTENT_VOLUME_CLAIMS, claim({ name: 'more', request: '2Gi' }))
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

describe('pods that may not be read', () => {
  it('leave it to the driver at each retry, with one line about it', async () => {
    fixture.cluster.before = ({ what }) => {
      if (what === 'pods') throw apiError(403, 'Forbidden', 'pods is forbidden')
    }
    fixture.driver.expand = refusing
    await fixture.request('2Gi')
    await fixture.clock.advance(10_000)
    expect(fixture.driver.calls).toHaveLength(4)
    const warnings = fixture.log.lines.filter(({ level }) => level === 'warning')
    expect(warnings).toMatchObject([
      {
        message: 'Pods may not be read: whether a volume is in use is left to the driver at each retry',
        pairs: { err: { message: 'pods is forbidden' } },
      },
    ])
  })

  it('may be listed though not watched: then each retry lists them', async () => {
    fixture.cluster.before = ({ what, verb }) => {
      if (what === 'pods' && verb === 'watch') throw apiError(403, 'Forbidden', 'pods is forbidden')
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

  it('for now leave it to the driver too', async () => {
    fixture.cluster.before = ({ what }) => {
      if (what === 'pods') throw apiError(500, 'InternalError', 'etcd is away')
    }
    fixture.driver.expand = refusing
    await fixture.request('2Gi')
    fixture.driver.expand = willing
    await fixture.clock.advance(1_000)
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })
})

describe('a thousand claims that wait among ten thousand pods', () => {
  it('cost one list of twenty pages, and a watch that continues when the server ends it, in an hour', async () => {
    fixture = new ResizerFixture()
    for (let index = 0; index < 1_000; index += 1) {
      const name = `data-${index}`
      fixture.cluster.put(PERSISTENT_VOLUMES, volume({ name }))
      fixture.cluster.put(PERSISTENT_VOLUME_CLAIMS, claim({ name, request: '2Gi' }))
    }
    for (let index = 0; index < 10_000; index += 1) fixture.cluster.put(PODS, pod(`web-${index}`, `data-${index}`))
    fixture.driver.expand = refusing
    await fixture.start()
    expect(fixture.driver.calls).toHaveLength(1_000)
    await fixture.clock.advance(3_600_000)
    expect(fixture.driver.calls).toHaveLength(1_000)
    expect(takePodRequests()).toEqual([...Array.from({ length: 20 }, () => 'list ns'), 'watch ns', 'watch ns'])
    await fixture.kill()
  })
})

describe('with --handle-volume-inuse-error=false', () => {
  it('a refusal is a final error like any other', async () => {
    await begin({ settings: { handleInUse: false } })
    fixture.driver.expand = refusing
    await fixture.request('2Gi')
    await fixture.clock.advance(3_000)
    expect(fixture.driver.calls).toHaveLength(3)
    expect(takePodRequests()).toEqual([])
  })
})
