import { CODES } from '@csi-sidecars/csi'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { CLAIM_REF, claim, VOLUME_REF, volume } from '../src/testing/builders.ts'
import { apiError } from '../src/testing/fake-cluster.ts'
import { failing, grown, requiredGi, willing } from '../src/testing/fake-driver.ts'
import { ResizerFixture } from '../src/testing/fixture.ts'

const EXPAND = 'ControllerExpandVolume'
const CLAIM = 'persistentvolumeclaims/status'
const VOLUME = 'persistentvolumes'

let fixture: ResizerFixture

beforeEach(async () => {
  fixture = new ResizerFixture()
  fixture.cluster.store(PERSISTENT_VOLUMES, volume())
  fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim())
  await fixture.start()
})

describe('changed claim', () => {
  const label = (): void => {
    fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, {
      metadata: { labels: { now: String(fixture.wire.length) } },
    })
  }

  it('an expansion reads the claim again if another writer has changed the claim before our write', async () => {
    fixture.caches.claims.lagging = true
    let edits = 0
    fixture.cluster.before = (request) => {
      if (request.resource !== CLAIM || edits > 0) return
      edits += 1
      label()
    }
    fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, { spec: { resources: { requests: { storage: '2Gi' } } } })
    fixture.caches.claims.deliver()
    await fixture.clock.settle()
    expect(fixture.takeWire()).toEqual([CLAIM, CLAIM, EXPAND, VOLUME, CLAIM])
    expect(fixture.cluster.requests.filter(({ verb }) => verb === 'get').map(({ resource }) => resource)).toEqual([
      'persistentvolumeclaims',
    ])
    expect(fixture.errors).toEqual([])
  })

  it('a change of the claim between our read and our write causes only one failing call', async () => {
    fixture.driver.expand = failing(CODES.Unavailable, 'busy')
    fixture.cluster.before = (request) => {
      if (request.resource !== CLAIM) return
      fixture.cluster.before = () => undefined
      void fixture.request('3Gi')
    }
    await fixture.request('2Gi')
    expect(fixture.driver.calls.map(requiredGi)).toEqual(['3Gi'])
    await fixture.clock.advance(900)
    expect(fixture.driver.calls.map(requiredGi)).toEqual(['3Gi'])
  })

  it('two quick changes of the requested size cause only one failing call', async () => {
    fixture.driver.expand = failing(CODES.Unavailable, 'busy')
    void fixture.request('2Gi')
    await fixture.request('3Gi')
    await fixture.clock.advance(900)
    expect(fixture.driver.calls.map(requiredGi)).toEqual(['3Gi'])
  })

  it('an expansion succeeds with one call if the claim changes during the call', async () => {
    fixture.driver.expand = ({ request }) => {
      fixture.caches.claims.lagging = true
      label()
      return grown(request, false)
    }
    await fixture.request('2Gi')
    expect(fixture.takeWire()).toEqual([CLAIM, EXPAND, VOLUME, CLAIM, CLAIM])
    expect(fixture.takeEvents()).toEqual([
      'Normal Resizing: External resizer is resizing volume pv-data',
      'Normal VolumeResizeSuccessful: Resize volume succeeded',
    ])
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('an expansion writes at most five times in one run if the claim changes constantly', async () => {
    fixture.cluster.before = (request) => {
      if (request.resource === CLAIM) throw apiError(409, 'Conflict', 'changed')
    }
    await fixture.request('2Gi')
    expect(fixture.takeWire()).toHaveLength(5)
    expect(fixture.takeEvents()).toEqual([])
    await fixture.clock.advance(900)
    expect(fixture.takeWire()).toEqual([])
  })

  it('an expansion runs again if another writer changes `status.allocatedResources` during the call', async () => {
    let calls = 0
    fixture.driver.expand = ({ request }) => {
      calls += 1
      if (calls === 1) {
        fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, {
          status: { allocatedResources: { storage: '3Gi' } },
        })
      }
      return grown(request, false)
    }
    await fixture.request('2Gi')
    expect(fixture.takeWire()).toEqual([CLAIM, EXPAND, VOLUME, CLAIM, EXPAND, VOLUME, CLAIM])
    expect(fixture.takeEvents().filter((event) => event.startsWith('Warning'))).toEqual([])
    expect(fixture.claim.status?.capacity).toEqual({ storage: '3Gi' })
  })

  it('an expansion ends if its claim is deleted', async () => {
    fixture.driver.expand = () => {
      fixture.cluster.delete(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF)
      return { capacityBytes: 2n ** 31n, nodeExpansionRequired: false }
    }
    await fixture.request('2Gi')
    await fixture.clock.advance(60_000)
    expect(fixture.takeWire()).toEqual([CLAIM, EXPAND, VOLUME])
    expect(fixture.errors).toEqual([])
  })

  it('an expansion reaches the first size and then a larger size if the request grows during the call', async () => {
    let raised = false
    fixture.driver.expand = ({ request }) => {
      if (!raised) {
        raised = true
        fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, {
          spec: { resources: { requests: { storage: '3Gi' } } },
        })
      }
      return grown(request, false)
    }
    await fixture.request('2Gi')
    expect(fixture.driver.calls.map(requiredGi)).toEqual(['2Gi', '3Gi'])
    expect(fixture.claim.status?.capacity).toEqual({ storage: '3Gi' })
    expect(fixture.takeEvents().filter((event) => event.startsWith('Warning'))).toEqual([])
  })
})

describe('lost driver', () => {
  it('an expansion records no error if the driver disconnects, and repeats the call after the reconnect', async () => {
    fixture.driver.expand = (call) => {
      fixture.driver.lose()
      return failing(CODES.Unavailable, 'connection lost')(call)
    }
    await fixture.request('2Gi')
    await fixture.clock.advance(60_000)
    expect(fixture.takeWire()).toEqual([CLAIM, EXPAND])
    expect(fixture.takeEvents()).toEqual(['Normal Resizing: External resizer is resizing volume pv-data'])
    fixture.driver.expand = willing
    fixture.driver.return()
    await fixture.clock.settle()
    expect(fixture.takeWire()).toEqual([CLAIM, EXPAND, VOLUME, CLAIM])
  })

  it('an expansion records an error of a connected driver in an event', async () => {
    fixture.driver.expand = failing(CODES.Internal, 'it went wrong')
    await fixture.request('2Gi')
    expect(fixture.takeEvents().at(-1)).toBe(
      'Warning VolumeResizeFailed: resize volume "pv-data" by resizer "csi.example.com" failed: ' +
        'rpc error: code = Internal desc = it went wrong',
    )
  })
})

describe('ended process', () => {
  it('an expansion writes nothing if the process ends during the call', async () => {
    let abandon = (_: unknown): void => undefined
    fixture.driver.expand = () =>
      new Promise((_, reject) => {
        abandon = reject
      })
    await fixture.request('2Gi')
    expect(fixture.takeWire()).toEqual([CLAIM, EXPAND])
    const killed = fixture.kill()
    abandon(new Error('given up'))
    await killed
    expect(fixture.takeWire()).toEqual([])
    expect(fixture.takeEvents()).toEqual(['Normal Resizing: External resizer is resizing volume pv-data'])
  })
})

describe('missing volume', () => {
  it('an expansion whose volume is missing waits until the volume is created', async () => {
    await fixture.kill()
    fixture.cluster.delete(PERSISTENT_VOLUMES, VOLUME_REF)
    await fixture.start()
    await fixture.request('2Gi')
    await fixture.clock.advance(100_000)
    expect(fixture.takeWire()).toEqual([])
    expect(fixture.errors[0]).toBe('Error syncing PVC: PV "pv-data" bound to pvc "ns/data" not found')
    fixture.cluster.store(PERSISTENT_VOLUMES, volume())
    await fixture.clock.settle()
    expect(fixture.takeWire()).toEqual([CLAIM, EXPAND, VOLUME, CLAIM])
  })
})

describe('edited volume', () => {
  const editVolume = (storage: string): void => {
    fixture.cluster.edit(PERSISTENT_VOLUMES, VOLUME_REF, { spec: { capacity: { storage } } })
  }

  it('an expansion reaches the requested size even if an administrator has written a larger size to the volume', async () => {
    await fixture.request('3Gi')
    editVolume('9Gi')
    await fixture.request('5Gi')
    expect(fixture.driver.calls.map(requiredGi)).toEqual(['3Gi', '5Gi'])
    expect(fixture.claim.status?.capacity).toEqual({ storage: '5Gi' })
    expect(fixture.cluster.find(PERSISTENT_VOLUMES, VOLUME_REF)?.spec?.capacity).toEqual({ storage: '5Gi' })
  })

  it('an expansion calls the driver again if an administrator shrinks the volume while the result is saved', async () => {
    fixture.driver.expand = ({ request }) => grown(request, true)
    let edits = 0
    fixture.cluster.before = ({ resource }) => {
      if (resource !== CLAIM || fixture.driver.calls.length === 0 || edits > 0) return
      edits += 1
      editVolume('1Gi')
    }
    await fixture.request('2Gi')
    await fixture.clock.advance(1_000)
    expect(fixture.driver.calls.map(requiredGi)).toEqual(['2Gi', '2Gi'])
    expect(fixture.cluster.find(PERSISTENT_VOLUMES, VOLUME_REF)?.spec?.capacity).toEqual({ storage: '2Gi' })
    fixture.takeWire()
    await fixture.clock.advance(3_600_000)
    expect(fixture.takeWire()).toEqual([])
  })
})
