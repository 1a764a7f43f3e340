import { CODES } from '@csi-sidecars/csi'
import type { ControllerExpandVolumeRequest } from '@csi-sidecars/csi-proto'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, VOLUME_ATTRIBUTES_CLASSES } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { attributesClass, CLAIM_REF, claim, VOLUME_REF, volume } from '../src/testing/builders.ts'
import { apiError } from '../src/testing/fake-cluster.ts'
import { failing, grown, willing } from '../src/testing/fake-driver.ts'
import { ResizerFixture } from '../src/testing/fixture.ts'

const CLAIM = 'persistentvolumeclaims/status'
const VOLUME = 'persistentvolumes'

let fixture: ResizerFixture

beforeEach(async () => {
  fixture = new ResizerFixture()
  fixture.cluster.store(VOLUME_ATTRIBUTES_CLASSES, attributesClass('gold'))
  fixture.cluster.store(PERSISTENT_VOLUMES, volume())
  fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim())
  await fixture.start()
})

/** Deletes the volume and recreates it under its name, for the same claim. */
function replaceVolume(): void {
  fixture.cluster.delete(PERSISTENT_VOLUMES, VOLUME_REF)
  fixture.cluster.store(PERSISTENT_VOLUMES, volume({ ownUid: 'uid-pv-2', handle: 'handle-2' }))
}

/** Deletes the claim and recreates it under its name, bound to the same volume. */
function replaceClaim(): void {
  fixture.cluster.delete(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF)
  fixture.cluster.edit(PERSISTENT_VOLUMES, VOLUME_REF, { spec: { claimRef: { uid: 'uid-2' } } })
  fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim({ uid: 'uid-2' }))
}

const handles = (): readonly string[] =>
  fixture.driver.calls.map(({ request }) => (request as ControllerExpandVolumeRequest).volumeId)

const want = async (name: string): Promise<void> => {
  fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, { spec: { volumeAttributesClassName: name } })
  await fixture.clock.settle()
}

const volumeSpec = () => fixture.cluster.find(PERSISTENT_VOLUMES, VOLUME_REF)?.spec

/** Runs the action once, during the first call to the driver. */
function duringFirstCall(action: () => void): void {
  fixture.driver.expand = (call) => {
    if (fixture.driver.calls.length === 1) action()
    return willing(call)
  }
  fixture.driver.modify = () => {
    if (fixture.driver.calls.length === 1) action()
    return {}
  }
}

describe('expansion', () => {
  it('a volume that is recreated during its expansion is expanded at once', async () => {
    let callsBeforeWrite: number | undefined
    duringFirstCall(replaceVolume)
    fixture.cluster.after = ({ resource, verb }) => {
      if (resource === VOLUME && verb === 'patch') callsBeforeWrite ??= handles().length
    }
    await fixture.request('2Gi')
    expect(handles()).toEqual(['handle-data', 'handle-2'])
    expect(callsBeforeWrite).toBe(2)
    expect(volumeSpec()?.capacity).toEqual({ storage: '2Gi' })
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
    expect(fixture.takeEvents().filter((event) => event.startsWith('Warning'))).toEqual([])
  })

  it('a recreated volume does not get the size of the old volume while the cache is stale', async () => {
    fixture.caches.volumes.lagging = true
    duringFirstCall(replaceVolume)
    await fixture.request('2Gi')
    expect(volumeSpec()?.capacity).toEqual({ storage: '1Gi' })
    expect(fixture.claim.status?.capacity).toEqual({ storage: '1Gi' })
    expect(handles()).toEqual(['handle-data'])
    expect(fixture.takeEvents().filter((event) => event.startsWith('Warning'))).toEqual([])
    fixture.caches.volumes.lagging = false
    fixture.caches.volumes.deliver()
    await fixture.clock.settle()
    expect(handles()).toEqual(['handle-data', 'handle-2'])
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })
})

describe('modification', () => {
  it('a volume that is recreated during its modification is modified at once', async () => {
    duringFirstCall(replaceVolume)
    await want('gold')
    expect(handles()).toEqual(['handle-data', 'handle-2'])
    expect(volumeSpec()?.volumeAttributesClassName).toBe('gold')
    expect(fixture.claim.status?.currentVolumeAttributesClassName).toBe('gold')
  })

  it('a recreated volume does not get the class of the old volume while the cache is stale', async () => {
    fixture.caches.volumes.lagging = true
    duringFirstCall(replaceVolume)
    await want('gold')
    expect(volumeSpec()?.volumeAttributesClassName).toBeUndefined()
    fixture.caches.volumes.lagging = false
    fixture.caches.volumes.deliver()
    await fixture.clock.settle()
    expect(volumeSpec()?.volumeAttributesClassName).toBe('gold')
    expect(handles().at(-1)).toBe('handle-2')
  })
})

describe('recreated claim', () => {
  it.each([true, false])('a recreated claim inherits no failure of the old claim (late cache: %s)', async (lagging) => {
    fixture.caches.claims.lagging = lagging
    fixture.driver.expand = () => {
      replaceClaim()
      fixture.driver.expand = willing
      return failing(CODES.OutOfRange, 'never')({} as never)
    }
    fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, {
      spec: { resources: { requests: { storage: '2Gi' } } },
    })
    fixture.caches.claims.deliver()
    await fixture.clock.settle()
    expect(fixture.claim.metadata?.uid).toBe('uid-2')
    expect(fixture.claim.status?.conditions).toBeUndefined()
    expect(fixture.claim.status?.allocatedResourceStatuses).toBeUndefined()
  })

  it("the driver's refusal for a deleted claim does not count for the recreated claim", async () => {
    // Both claims show a running expansion to the same size. It has failed for the first claim, but may be running for
    // the second claim.
    fixture.driver.expand = () => {
      fixture.cluster.delete(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF)
      fixture.cluster.edit(PERSISTENT_VOLUMES, VOLUME_REF, { spec: { claimRef: { uid: 'uid-2' } } })
      const begun = { allocated: '5Gi', sizeStatus: 'ControllerResizeInProgress' }
      fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim({ uid: 'uid-2', request: '3Gi', ...begun }))
      fixture.driver.expand = willing
      return failing(CODES.Internal, 'broken')({} as never)
    }
    fixture.driver.calls.splice(0)
    await fixture.request('2Gi')
    const sizes = fixture.driver.calls.map(
      ({ request }) => (request as ControllerExpandVolumeRequest).capacityRange?.requiredBytes,
    )
    expect(sizes).toEqual([2n * 2n ** 30n, 5n * 2n ** 30n])
  })

  it('a refusal for a claim that is deleted during the call causes no request about pods', async () => {
    fixture.driver.expand = () => {
      fixture.cluster.delete(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF)
      return failing(CODES.FailedPrecondition, 'in use')({} as never)
    }
    await fixture.request('2Gi')
    expect(fixture.cluster.requests.filter(({ resource }) => resource === 'pods')).toEqual([])
  })
})

describe('NotFound', () => {
  const oneNotFound = (which: string, after: number): void => {
    let left = 1
    fixture.cluster.before = ({ resource, verb }) => {
      if (verb !== 'patch' || resource !== which || fixture.driver.calls.length < after || left === 0) return
      left -= 1
      throw apiError(404, 'NotFound', 'not found')
    }
  }

  it.each<[name: string, which: string, after: number]>([
    ['records the start of an expansion', CLAIM, 0],
    ['writes the size of the volume', VOLUME, 1],
    ['records the end of an expansion', CLAIM, 1],
  ])('after NotFound for a cached object, the resizer repeats the patch that %s', async (_what, which, after) => {
    oneNotFound(which, after)
    await fixture.request('2Gi')
    await fixture.clock.advance(1_000)
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it.each<[name: string, which: string, after: number]>([
    ['records the start of a modification', CLAIM, 0],
    ['writes the class of the volume', VOLUME, 1],
    ['records the end of a modification', CLAIM, 1],
  ])('after NotFound for a cached object, the resizer repeats the patch that %s', async (_what, which, after) => {
    oneNotFound(which, after)
    await want('gold')
    await fixture.clock.advance(1_000)
    expect(fixture.claim.status?.currentVolumeAttributesClassName).toBe('gold')
  })

  it('a claim that is deleted during its expansion causes no further work', async () => {
    fixture.driver.expand = ({ request }) => {
      fixture.cluster.delete(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF)
      return grown(request, false)
    }
    await fixture.request('2Gi')
    await fixture.clock.advance(3_600_000)
    expect(fixture.driver.calls).toHaveLength(1)
    expect(fixture.errors).toEqual([])
  })
})
