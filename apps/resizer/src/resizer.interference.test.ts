import { CODES } from '@csi-sidecars/csi'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { CLAIM_REF, claim, VOLUME_REF, volume } from './testing/builders.ts'
import { apiError } from './testing/fake-cluster.ts'
import { failing, grown, requiredGi, willing } from './testing/fake-driver.ts'
import { World } from './testing/world.ts'

const EXPAND = 'ControllerExpandVolume'
const CLAIM = 'persistentvolumeclaims/status'
const VOLUME = 'persistentvolumes'

let world: World

beforeEach(async () => {
  world = new World()
  world.cluster.put(PERSISTENT_VOLUMES, volume())
  world.cluster.put(PERSISTENT_VOLUME_CLAIMS, claim())
  await world.start()
})

describe('somebody else who changes the claim', () => {
  const label = (): void => {
    world.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, {
      metadata: { labels: { now: String(world.wire.length) } },
    })
  }

  it('between our look and our write costs a read', async () => {
    world.caches.claims.lagging = true
    let edits = 0
    world.cluster.before = (request) => {
      if (request.what !== CLAIM || edits > 0) return
      edits += 1
      label()
    }
    world.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, { spec: { resources: { requests: { storage: '2Gi' } } } })
    world.caches.claims.deliver()
    await world.clock.settle()
    expect(world.takeWire()).toEqual([CLAIM, CLAIM, EXPAND, VOLUME, CLAIM])
    expect(world.cluster.requests.filter(({ verb }) => verb === 'get').map(({ what }) => what)).toEqual([
      'persistentvolumeclaims',
    ])
    expect(world.errors).toEqual([])
  })

  it('during the call neither fails nor repeats it', async () => {
    world.driver.expand = ({ request }) => {
      world.caches.claims.lagging = true
      label()
      return grown(request, false)
    }
    await world.request('2Gi')
    expect(world.takeWire()).toEqual([CLAIM, EXPAND, VOLUME, CLAIM, CLAIM])
    expect(world.takeEvents()).toEqual([
      'Normal Resizing: External resizer is resizing volume pv-data',
      'Normal VolumeResizeSuccessful: Resize volume succeeded',
    ])
    expect(world.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('all the time does not make a storm', async () => {
    world.cluster.before = (request) => {
      if (request.what === CLAIM) throw apiError(409, 'Conflict', 'changed')
    }
    await world.request('2Gi')
    expect(world.takeWire()).toHaveLength(5)
    expect(world.takeEvents()).toEqual([])
    await world.clock.advance(900)
    expect(world.takeWire()).toEqual([])
  })

  it('and its size has the claim looked at anew', async () => {
    let calls = 0
    world.driver.expand = ({ request }) => {
      calls += 1
      if (calls === 1) {
        world.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, { status: { allocatedResources: { storage: '3Gi' } } })
      }
      return grown(request, false)
    }
    await world.request('2Gi')
    expect(world.takeWire()).toEqual([CLAIM, EXPAND, VOLUME, CLAIM, EXPAND, VOLUME, CLAIM])
    expect(world.takeEvents().filter((event) => event.startsWith('Warning'))).toEqual([])
    expect(world.claim.status?.capacity).toEqual({ storage: '3Gi' })
  })

  it('by deleting it ends the work', async () => {
    world.driver.expand = () => {
      world.cluster.delete(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF)
      return { capacityBytes: 2n ** 31n, nodeExpansionRequired: false }
    }
    await world.request('2Gi')
    await world.clock.advance(60_000)
    expect(world.takeWire()).toEqual([CLAIM, EXPAND, VOLUME])
    expect(world.errors).toEqual([])
  })

  it('by raising the request during the call gets the first size, then the larger one', async () => {
    let raised = false
    world.driver.expand = ({ request }) => {
      if (!raised) {
        raised = true
        world.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, {
          spec: { resources: { requests: { storage: '3Gi' } } },
        })
      }
      return grown(request, false)
    }
    await world.request('2Gi')
    expect(world.driver.calls.map(requiredGi)).toEqual(['2Gi', '3Gi'])
    expect(world.claim.status?.capacity).toEqual({ storage: '3Gi' })
    expect(world.takeEvents().filter((event) => event.startsWith('Warning'))).toEqual([])
  })
})

describe('a driver that goes away', () => {
  it('in mid-call is nobody to complain about, and is called when it is back', async () => {
    world.driver.expand = (call) => {
      world.driver.lose()
      return failing(CODES.Unavailable, 'connection lost')(call)
    }
    await world.request('2Gi')
    await world.clock.advance(60_000)
    expect(world.takeWire()).toEqual([CLAIM, EXPAND])
    expect(world.takeEvents()).toEqual(['Normal Resizing: External resizer is resizing volume pv-data'])
    world.driver.expand = willing
    world.driver.return()
    await world.clock.settle()
    expect(world.takeWire()).toEqual([CLAIM, EXPAND, VOLUME, CLAIM])
  })

  it('is not waited for when it had answered', async () => {
    world.driver.expand = failing(CODES.Internal, 'it went wrong')
    await world.request('2Gi')
    expect(world.takeEvents().at(-1)).toBe(
      'Warning VolumeResizeFailed: resize volume "pv-data" by resizer "csi.example.com" failed: ' +
        'rpc error: code = Internal desc = it went wrong',
    )
  })
})

describe('an end of the process', () => {
  it('in mid-call writes nothing', async () => {
    let abandon = (_: unknown): void => undefined
    world.driver.expand = () =>
      new Promise((_, reject) => {
        abandon = reject
      })
    await world.request('2Gi')
    expect(world.takeWire()).toEqual([CLAIM, EXPAND])
    const killed = world.kill()
    abandon(new Error('given up'))
    await killed
    expect(world.takeWire()).toEqual([])
    expect(world.takeEvents()).toEqual(['Normal Resizing: External resizer is resizing volume pv-data'])
  })
})

describe('a volume that is not there', () => {
  it('is waited for: the claim is tried when it appears', async () => {
    await world.kill()
    world.cluster.delete(PERSISTENT_VOLUMES, VOLUME_REF)
    await world.start()
    await world.request('2Gi')
    await world.clock.advance(100_000)
    expect(world.takeWire()).toEqual([])
    expect(world.errors[0]).toBe('Error syncing PVC: PV "pv-data" bound to pvc "ns/data" not found')
    world.cluster.put(PERSISTENT_VOLUMES, volume())
    await world.clock.settle()
    expect(world.takeWire()).toEqual([CLAIM, EXPAND, VOLUME, CLAIM])
  })
})
