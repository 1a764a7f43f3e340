import { CODES } from '@csi-sidecars/csi'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, type Pod } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { claim, NAMESPACE, pod, volume } from './testing/builders.ts'
import { apiError } from './testing/fake-cluster.ts'
import { failing, willing } from './testing/fake-driver.ts'
import { World, type WorldOptions } from './testing/world.ts'

const IN_USE =
  'Warning VolumeResizeFailed: Unable to expand ns/data because CSI driver csi.example.com only supports offline ' +
  'expansion and volume is currently in-use'

let world: World

async function begin(options: WorldOptions = {}): Promise<void> {
  world = new World(options)
  world.cluster.put(PERSISTENT_VOLUMES, volume())
  world.cluster.put(PERSISTENT_VOLUME_CLAIMS, claim())
  world.cluster.put(PODS, pod('web', 'data'))
  world.cluster.put(PODS, pod('other', 'another'))
  await world.start()
}

beforeEach(() => begin())

const refusing = failing(CODES.FailedPrecondition, 'the volume is in use')

/** What was asked about pods since the last look. */
function takePodRequests(): readonly string[] {
  return world.cluster.requests
    .splice(0)
    .flatMap(({ verb, what, name }) => (what === 'pods' ? [`${verb} ${name}`] : []))
}

async function changePod(change: Partial<Pod> | undefined, name = 'web'): Promise<void> {
  if (change === undefined) world.cluster.delete(PODS, { namespace: NAMESPACE, name })
  else world.cluster.edit(PODS, { namespace: NAMESPACE, name }, change)
  await world.clock.settle()
}

describe('a driver that expands volumes in use', () => {
  it('has nobody ask about pods', async () => {
    await world.request('2Gi')
    expect(world.claim.status?.capacity).toEqual({ storage: '2Gi' })
    expect(takePodRequests()).toEqual([])
  })
})

describe('a driver that refuses to expand a volume in use', () => {
  beforeEach(async () => {
    world.driver.expand = refusing
    await world.request('2Gi')
  })

  it('has the pods of the namespace listed once, and watched while the claim waits', () => {
    expect(takePodRequests()).toEqual(['list ns', 'watch ns'])
    expect(world.takeEvents().at(-1)).toContain('code = FailedPrecondition desc = the volume is in use')
  })

  it('is not called again as long as a pod uses the volume', async () => {
    world.takeEvents()
    takePodRequests()
    world.driver.calls.splice(0)
    await world.clock.advance(3_000)
    expect(world.driver.calls).toEqual([])
    expect(world.takeEvents()).toEqual([IN_USE, IN_USE])
    expect(takePodRequests()).toEqual(['list ns', 'watch ns', 'list ns', 'watch ns'])
    expect(world.errors.at(-1)).toBe(`Error syncing PVC: ${IN_USE.slice('Warning VolumeResizeFailed: '.length)}`)
  })

  it.each<[what: string, change: Partial<Pod> | undefined]>([
    ['has ended', { status: { phase: 'Succeeded' } }],
    ['has failed', { status: { phase: 'Failed' } }],
    ['is deleted', undefined],
  ])('is called at once when the last pod %s', async (_what, change) => {
    await world.clock.advance(100_000)
    world.driver.expand = willing
    world.driver.calls.splice(0)
    await changePod(change)
    expect(world.driver.calls).toHaveLength(1)
    expect(world.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('has pods watched no more when the claim waits no more', async () => {
    world.driver.expand = willing
    await changePod(undefined)
    takePodRequests()
    await changePod({ metadata: { labels: { a: 'b' } } }, 'other')
    await world.clock.advance(3_600_000)
    expect(takePodRequests()).toEqual([])
    expect(world.clock.pending).toBe(0)
  })

  it('waits for the last of several pods', async () => {
    world.cluster.put(PODS, pod('second', 'data'))
    await world.clock.advance(1_000)
    world.driver.calls.splice(0)
    await changePod(undefined)
    expect(world.driver.calls).toEqual([])
    await changePod({ status: { phase: 'Succeeded' } }, 'second')
    expect(world.driver.calls).toHaveLength(1)
  })

  it('notices a pod that ends between list and watch', async () => {
    let ended = false
    world.cluster.before = ({ what, verb }) => {
      if (what !== 'pods' || verb !== 'watch' || ended) return
      ended = true
      world.cluster.delete(PODS, { namespace: NAMESPACE, name: 'web' })
    }
    world.driver.expand = willing
    await world.clock.advance(1_000)
    expect(world.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('notices a pod that ends while the watch is broken', async () => {
    await world.clock.advance(100_000)
    world.cluster.watchesBroken = true
    await changePod({ metadata: { labels: { a: 'b' } } })
    world.driver.expand = willing
    await changePod(undefined)
    await world.clock.advance(2_000)
    expect(world.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('is called again for a volume that no pod uses, whatever it had against it', async () => {
    await changePod(undefined)
    world.driver.calls.splice(0)
    takePodRequests()
    await world.clock.advance(2_000)
    expect(world.driver.calls.length).toBeGreaterThan(0)
    expect(takePodRequests().filter((request) => request.startsWith('watch'))).toEqual([])
  })

  it('is called for another claim of the name', async () => {
    const another = claim({ uid: 'uid-2', request: '2Gi' })
    world.cluster.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: NAMESPACE, name: 'data' })
    world.cluster.put(PERSISTENT_VOLUMES, volume({ uid: 'uid-2' }))
    world.driver.calls.splice(0)
    world.cluster.put(PERSISTENT_VOLUME_CLAIMS, another)
    await world.clock.settle()
    expect(world.driver.calls).toHaveLength(1)
  })

  it('leaves nothing behind when the process ends', async () => {
    await world.kill()
    expect(world.clock.pending).toBe(0)
    takePodRequests()
    await changePod(undefined)
    expect(takePodRequests()).toEqual([])
  })
})

describe('a claim counts as used', () => {
  it('by a pod whose own volume it was made for', async () => {
    const ephemeral = { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: {} } } }
    const owner = { metadata: { namespace: NAMESPACE, name: 'job' }, spec: { containers: [], volumes: [ephemeral] } }
    world.cluster.put(PODS, owner)
    world.cluster.put(PERSISTENT_VOLUMES, volume({ name: 'job-scratch' }))
    world.driver.expand = refusing
    world.cluster.put(PERSISTENT_VOLUME_CLAIMS, claim({ name: 'job-scratch', request: '2Gi' }))
    await world.clock.advance(1_000)
    expect(world.takeEvents().at(-1)).toContain('Unable to expand ns/job-scratch')
    world.driver.expand = willing
    world.driver.calls.splice(0)
    await changePod(undefined, 'job')
    expect(world.driver.calls).toHaveLength(1)
  })

  it('by a pod that waits for a node, not by one that has ended', async () => {
    world.driver.expand = refusing
    await changePod({ status: { phase: 'Pending' } })
    await world.request('2Gi')
    await world.clock.advance(1_000)
    expect(world.takeEvents().at(-1)).toBe(IN_USE)
  })

  it('together with others of its namespace, under one watch', async () => {
    world.cluster.put(PODS, pod('third', 'more'))
    world.cluster.put(PERSISTENT_VOLUMES, volume({ name: 'more' }))
    world.driver.expand = refusing
    world.cluster.put(PERSISTENT_VOLUME_CLAIMS, claim({ name: 'more', request: '2Gi' }))
    await world.request('2Gi')
    await world.clock.advance(60_000)
    world.driver.expand = willing
    await changePod(undefined)
    expect(world.claim.status?.capacity).toEqual({ storage: '2Gi' })
    world.driver.calls.splice(0)
    await changePod(undefined, 'third')
    expect(world.driver.calls).toHaveLength(1)
  })
})

describe('pods that may not be read', () => {
  it('leave it to the driver at each retry, with one line about it', async () => {
    world.cluster.before = ({ what }) => {
      if (what === 'pods') throw apiError(403, 'Forbidden', 'pods is forbidden')
    }
    world.driver.expand = refusing
    await world.request('2Gi')
    await world.clock.advance(10_000)
    expect(world.driver.calls).toHaveLength(4)
    const warnings = world.log.lines.filter(({ level }) => level === 'warning')
    expect(warnings).toMatchObject([
      {
        message: 'Pods may not be read: whether a volume is in use is left to the driver at each retry',
        pairs: { err: { message: 'pods is forbidden' } },
      },
    ])
  })

  it('may be listed though not watched: then each retry lists them', async () => {
    world.cluster.before = ({ what, verb }) => {
      if (what === 'pods' && verb === 'watch') throw apiError(403, 'Forbidden', 'pods is forbidden')
    }
    world.driver.expand = refusing
    await world.request('2Gi')
    await world.clock.advance(3_000)
    expect(world.driver.calls).toHaveLength(1)
    world.driver.expand = willing
    await changePod(undefined)
    await world.clock.advance(4_000)
    expect(world.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('for now leave it to the driver too', async () => {
    world.cluster.before = ({ what }) => {
      if (what === 'pods') throw apiError(500, 'InternalError', 'etcd is away')
    }
    world.driver.expand = refusing
    await world.request('2Gi')
    world.driver.expand = willing
    await world.clock.advance(1_000)
    expect(world.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })
})

describe('with --handle-volume-inuse-error=false', () => {
  it('a refusal is a final error like any other', async () => {
    await begin({ settings: { handleInUse: false } })
    world.driver.expand = refusing
    await world.request('2Gi')
    await world.clock.advance(3_000)
    expect(world.driver.calls).toHaveLength(3)
    expect(takePodRequests()).toEqual([])
  })
})
