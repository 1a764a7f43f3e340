import { CODES, type CodeName } from '@csi-sidecars/csi'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, VOLUME_ATTRIBUTES_CLASSES } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import {
  attributesClass,
  CLAIM_REF,
  type ClaimParts,
  claim,
  VOLUME_REF,
  type VolumeParts,
  volume,
} from './testing/builders.ts'
import { apiError } from './testing/fake-cluster.ts'
import { failing } from './testing/fake-driver.ts'
import { World, type WorldOptions } from './testing/world.ts'

const MODIFY = 'ControllerModifyVolume'
const CLAIM = 'persistentvolumeclaims/status'
const VOLUME = 'persistentvolumes'
const NOW = '2026-01-01T00:00:00Z'

let world: World

async function begin(parts: ClaimParts = {}, volumeParts: VolumeParts = {}, options: WorldOptions = {}): Promise<void> {
  world = new World(options)
  world.cluster.put(VOLUME_ATTRIBUTES_CLASSES, attributesClass('gold'))
  world.cluster.put(VOLUME_ATTRIBUTES_CLASSES, attributesClass('silver'))
  world.cluster.put(PERSISTENT_VOLUMES, volume(volumeParts))
  world.cluster.put(PERSISTENT_VOLUME_CLAIMS, claim(parts))
  await world.start()
}

async function want(name: string | null): Promise<void> {
  world.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, { spec: { volumeAttributesClassName: name } })
  await world.clock.settle()
}

async function callsWithin(seconds: number): Promise<readonly number[]> {
  const start = world.clock.monotonic()
  world.driver.calls.splice(0)
  await world.clock.advance(seconds * 1000)
  return world.driver.calls.map(({ at }) => Math.round((at - start) / 1000))
}

const modifying = (status: string, target?: string) => ({
  status,
  ...(target && { targetVolumeAttributesClassName: target }),
})
const condition = (type: string, message: string, reason?: string) => ({
  type,
  status: 'True',
  lastProbeTime: NOW,
  lastTransitionTime: NOW,
  ...(reason && { reason }),
  message,
})

describe('an error of the driver', () => {
  const text = (code: string) => `rpc error: code = ${code} desc = it went wrong`

  it('InvalidArgument makes the class infeasible', async () => {
    await begin()
    world.driver.modify = failing(CODES.InvalidArgument, 'it went wrong')
    await want('gold')
    expect(world.takeWire()).toEqual([CLAIM, MODIFY, CLAIM])
    expect(world.claim.status).toMatchObject({
      modifyVolumeStatus: modifying('Infeasible', 'gold'),
      conditions: [
        condition('ModifyingVolume', 'Modifying volume to "gold" failed. Waiting for retry.'),
        condition('ModifyVolumeError', 'it went wrong', 'InvalidArgument'),
      ],
    })
    expect(world.takeEvents().at(-1)).toBe(`Warning VolumeModifyFailed: ${text('InvalidArgument')}`)
    expect(await callsWithin(700)).toEqual([511])
  })

  it.each<CodeName>(['NotFound', 'OutOfRange', 'Internal', 'FailedPrecondition', 'Unimplemented'])(
    '%s is final, though the class is feasible',
    async (code) => {
      await begin()
      world.driver.modify = failing(CODES[code], 'it went wrong')
      await want('gold')
      expect(world.claim.status).toMatchObject({
        modifyVolumeStatus: modifying('InProgress', 'gold'),
        conditions: [
          condition('ModifyingVolume', 'Modifying volume to "gold" failed. Waiting for retry.'),
          condition('ModifyVolumeError', 'it went wrong', code),
        ],
      })
      expect(world.takeEvents().at(-1)).toBe(`Warning VolumeModifyFailed: ${text(code)}`)
      expect(await callsWithin(10)).toEqual([1, 3, 7])
    },
  )

  it.each<CodeName>(['DeadlineExceeded', 'Unavailable', 'Aborted', 'ResourceExhausted', 'Canceled'])(
    '%s pins the class',
    async (code) => {
      await begin()
      world.driver.modify = failing(CODES[code], 'it went wrong')
      await want('gold')
      expect(world.claim.status).toMatchObject({
        modifyVolumeStatus: modifying('InProgress', 'gold'),
        conditions: [
          condition('ModifyingVolume', 'Modifying volume to "gold" is still in progress.'),
          condition('ModifyVolumeError', 'it went wrong', code),
        ],
      })
      expect(world.takeEvents().at(-1)).toBe(`Warning VolumeModifyFailed: ${text(code)}. Still modifying to VAC gold`)
      world.takeWire()
      await want('silver')
      expect(world.takeWire()).toEqual([MODIFY, CLAIM])
      world.driver.modify = () => ({})
      world.driver.calls.splice(0)
      await world.clock.advance(5_000)
      const parameters = world.driver.calls.map(
        ({ request }) => (request as { mutableParameters: object }).mutableParameters,
      )
      expect(parameters).toEqual([{ iops: 'gold' }, { iops: 'silver' }])
      expect(world.claim.status?.currentVolumeAttributesClassName).toBe('silver')
    },
  )

  it('does not hold another class up', async () => {
    await begin()
    world.driver.modify = failing(CODES.InvalidArgument, 'it went wrong')
    await want('gold')
    world.driver.modify = () => ({})
    await want('silver')
    expect(world.claim.status?.currentVolumeAttributesClassName).toBe('silver')
    expect(world.claim.status?.conditions).toBeUndefined()
  })

  it('is tried again when the driver says', async () => {
    await begin()
    world.driver.modify = failing(CODES.InvalidArgument, 'it went wrong', 3000)
    await want('gold')
    expect(await callsWithin(10)).toEqual([3, 6, 9])
  })

  it('moves the time of a condition only with its reason', async () => {
    await begin()
    world.driver.modify = failing(CODES.Internal, 'it went wrong')
    await want('gold')
    await world.clock.advance(1_000)
    world.driver.modify = failing(CODES.Unknown, 'it went wrong')
    await world.clock.advance(2_000)
    const later = '2026-01-01T00:00:03Z'
    expect(world.claim.status?.conditions).toMatchObject([
      { type: 'ModifyingVolume', lastProbeTime: later, lastTransitionTime: NOW },
      { type: 'ModifyVolumeError', reason: 'Unknown', lastProbeTime: later, lastTransitionTime: later },
    ])
  })

  it('that cannot be saved is not told', async () => {
    await begin()
    world.driver.modify = (call) => {
      world.cluster.before = ({ what }) => {
        world.cluster.before = () => undefined
        if (what === CLAIM) throw apiError(500, 'InternalError', 'etcd is away')
      }
      return failing(CODES.Internal, 'it went wrong')(call)
    }
    await want('gold')
    expect(world.takeEvents().filter((event) => event.startsWith('Warning'))).toEqual([])
    expect(world.errors).toEqual([
      `Error syncing PVC: mark PVC "data" as modify volume failed, errored with: can't patch status of  PVC ns/data with etcd is away`,
    ])
  })
})

describe('a wish that is withdrawn', () => {
  it('after a final failure only takes the condition away', async () => {
    await begin()
    world.driver.modify = failing(CODES.InvalidArgument, 'it went wrong')
    await want('gold')
    world.wire.splice(0)
    world.takeEvents()
    await want(null)
    expect(world.wire).toEqual([
      {
        what: CLAIM,
        body: {
          status: {
            '$setElementOrder/conditions': [{ type: 'ModifyVolumeError' }],
            conditions: [{ $patch: 'delete', type: 'ModifyingVolume' }],
          },
        },
      },
    ])
    expect(world.takeEvents()).toEqual(['Normal VolumeModifyCanceled: Cancelled modify.'])
    expect(world.claim.status?.modifyVolumeStatus).toEqual(modifying('Infeasible', 'gold'))
  })

  it('while it is carried out is carried out', async () => {
    await begin()
    world.driver.modify = failing(CODES.Internal, 'it went wrong')
    await want('gold')
    world.driver.modify = () => ({})
    world.takeWire()
    await want(null)
    expect(world.takeWire()).toEqual([MODIFY, VOLUME, CLAIM])
    expect(world.claim.status?.currentVolumeAttributesClassName).toBe('gold')
  })
})

describe('a modification that another process has begun', () => {
  const begun: ClaimParts = { wantedClass: 'silver', status: { modifyVolumeStatus: modifying('InProgress', 'gold') } }

  it('is carried on before anything else begins', async () => {
    await begin(begun)
    expect(world.takeWire()).toEqual([MODIFY, VOLUME, CLAIM, CLAIM, MODIFY, VOLUME, CLAIM])
    expect(world.claim.status?.currentVolumeAttributesClassName).toBe('silver')
  })

  it('waits for its class when that is gone', async () => {
    await begin({ ...begun, status: { modifyVolumeStatus: modifying('InProgress', 'bronze') } })
    await world.clock.advance(60_000)
    expect(world.takeWire()).toEqual([])
    expect(world.takeEvents()[0]).toBe('Warning VolumeModifyFailed: VAC "bronze" does not exist.')
    world.cluster.put(VOLUME_ATTRIBUTES_CLASSES, attributesClass('bronze'))
    await world.clock.settle()
    expect(world.claim.status?.currentVolumeAttributesClassName).toBe('silver')
  })
})

describe('what cannot be saved', () => {
  it.each([
    [
      VOLUME,
      'update pv.Spec.VolumeAttributesClassName for PVC "data" failed, errored with: update capacity of PV pv-data failed: etcd is away',
    ],
    [
      CLAIM,
      `mark PVC "data" as ModifyVolumeCompleted failed, errored with: can't patch status of  PVC ns/data with etcd is away`,
    ],
  ])('after a call (%s): no event, and the driver is asked again', async (what, why) => {
    await begin()
    world.driver.modify = () => {
      let left = 1
      world.cluster.before = (request) => {
        if (request.what !== what || left === 0) return
        left -= 1
        throw apiError(500, 'InternalError', 'etcd is away')
      }
      return {}
    }
    await want('gold')
    expect(world.takeEvents()).toHaveLength(1)
    expect(world.errors).toEqual([
      `Error syncing PVC: cannot get error status from modify volume err: modify volume failed to mark pvc data modify volume completed: ${why}`,
    ])
    world.cluster.before = () => undefined
    world.driver.modify = () => ({})
    await world.clock.advance(1_000)
    expect(world.claim.status?.currentVolumeAttributesClassName).toBe('gold')
  })

  it('at the beginning: the driver is not called', async () => {
    await begin()
    world.cluster.before = ({ what }) => {
      if (what === CLAIM) throw apiError(500, 'InternalError', 'etcd is away')
    }
    await want('gold')
    expect(world.takeWire()).toEqual([CLAIM])
    expect(world.takeEvents()).toEqual([])
  })
})

describe('somebody else who changes the claim', () => {
  it('costs a read and no event', async () => {
    await begin()
    world.driver.modify = (call) => {
      world.caches.claims.lagging = true
      world.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, { metadata: { labels: { x: 'y' } } })
      return failing(CODES.Internal, 'it went wrong')(call)
    }
    await want('gold')
    expect(world.takeWire()).toEqual([CLAIM, MODIFY, CLAIM, CLAIM])
    expect(world.claim.status?.conditions?.map(({ type }) => type)).toEqual(['ModifyingVolume', 'ModifyVolumeError'])
  })
})

describe('a driver that goes away in mid-call', () => {
  it('is nobody to complain about, and is called with the same class when it is back', async () => {
    await begin()
    world.driver.modify = (call) => {
      world.driver.lose()
      return failing(CODES.Unavailable, 'connection lost')(call)
    }
    await want('gold')
    await want('silver')
    await world.clock.advance(60_000)
    expect(world.takeWire()).toEqual([CLAIM, MODIFY])
    expect(world.takeEvents()).toHaveLength(1)
    world.driver.modify = () => ({})
    world.driver.calls.splice(0)
    world.driver.return()
    await world.clock.settle()
    const parameters = world.driver.calls.map(
      ({ request }) => (request as { mutableParameters: object }).mutableParameters,
    )
    expect(parameters).toEqual([{ iops: 'gold' }, { iops: 'silver' }])
  })
})

describe('a volume that is not there', () => {
  it('is waited for', async () => {
    await begin({ wantedClass: 'gold' })
    await world.kill()
    world.cluster.delete(PERSISTENT_VOLUMES, VOLUME_REF)
    await want('silver')
    await world.start()
    await world.clock.advance(100_000)
    world.takeWire()
    world.cluster.put(PERSISTENT_VOLUMES, volume())
    await world.clock.settle()
    expect(world.takeWire()).toEqual([CLAIM, MODIFY, VOLUME, CLAIM])
  })
})
