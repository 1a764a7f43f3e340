import { messageOf } from '@csi-sidecars/base'
import { CODES } from '@csi-sidecars/csi'
import { ApiError } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { CLAIM_REF, VOLUME_REF, volume } from '../src/testing/builders.ts'
import { apiError } from '../src/testing/fake-cluster.ts'
import { failing } from '../src/testing/fake-driver.ts'
import type { ResizerFixture } from '../src/testing/fixture.ts'
import { beginModify, wantClass } from '../src/testing/modify.ts'

const MODIFY = 'ControllerModifyVolume'
const CLAIM = 'persistentvolumeclaims/status'
const VOLUME = 'persistentvolumes'

let fixture: ResizerFixture

async function begin(...options: Parameters<typeof beginModify>): Promise<void> {
  fixture = await beginModify(...options)
}

const want = (name: string | null): Promise<void> => wantClass(fixture, name)

describe('refused patches', () => {
  it.each([
    [
      VOLUME,
      'update pv.Spec.VolumeAttributesClassName for PVC "data" failed, errored with: update capacity of PV pv-data failed: etcd is away',
    ],
    [
      CLAIM,
      `mark PVC "data" as ModifyVolumeCompleted failed, errored with: can't patch status of  PVC ns/data with etcd is away`,
    ],
  ])(
    'a modification repeats its call without an event if the patch of %s fails after the call',
    async (target, why) => {
      await begin()
      fixture.driver.modify = () => {
        let left = 1
        fixture.cluster.before = (request) => {
          if (request.resource !== target || left === 0) return
          left -= 1
          throw apiError(500, 'InternalError', 'etcd is away')
        }
        return {}
      }
      await want('gold')
      expect(fixture.takeEvents()).toHaveLength(1)
      expect(fixture.errors).toEqual([
        `Error syncing PVC: cannot get error status from modify volume err: modify volume failed to mark pvc data modify volume completed: ${why}`,
      ])
      fixture.cluster.before = () => undefined
      fixture.driver.modify = () => ({})
      await fixture.clock.advance(1_000)
      expect(fixture.claim.status?.currentVolumeAttributesClassName).toBe('gold')
    },
  )

  it('a modification makes no CSI call if its start cannot be recorded in the claim', async () => {
    await begin()
    fixture.cluster.before = ({ resource }) => {
      if (resource === CLAIM) throw apiError(500, 'InternalError', 'etcd is away')
    }
    await want('gold')
    expect(fixture.takeWire()).toEqual([CLAIM])
    expect(fixture.takeEvents()).toEqual([])
  })
})

describe('lost answer', () => {
  it('after a write without an answer, a modification writes nothing until it has read the claim', async () => {
    await begin()
    fixture.driver.modify = (call) => {
      // The user withdraws the request. If the status lacked the failure, another call would finish the modification.
      fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, { spec: { volumeAttributesClassName: null } })
      fixture.caches.claims.lagging = true
      fixture.cluster.after = () => {
        throw new ApiError({ code: 0, reason: '', message: 'connection reset by peer', outcomeUnknown: true })
      }
      fixture.cluster.before = ({ verb }) => {
        if (verb === 'get') throw apiError(500, 'InternalError', 'etcd is away')
      }
      return failing(CODES.InvalidArgument, 'no such tier')(call)
    }
    await want('gold')
    expect(fixture.takeWire()).toEqual([CLAIM, MODIFY, CLAIM])
    fixture.cluster.after = () => undefined
    await fixture.clock.advance(1_000)
    expect(fixture.takeWire()).toEqual([])
    fixture.cluster.before = () => undefined
    await fixture.clock.advance(2_000)
    expect(fixture.takeWire()).toEqual([CLAIM])
    expect(fixture.claim.status?.modifyVolumeStatus?.status).toBe('Infeasible')
  })
})

describe('changed claim', () => {
  it('a modification reads the claim again if another writer has changed the claim', async () => {
    await begin()
    fixture.driver.modify = (call) => {
      fixture.caches.claims.lagging = true
      fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, { metadata: { labels: { x: 'y' } } })
      return failing(CODES.Internal, 'it went wrong')(call)
    }
    await want('gold')
    expect(fixture.takeWire()).toEqual([CLAIM, MODIFY, CLAIM, CLAIM])
    expect(fixture.claim.status?.conditions?.map(({ type }) => type)).toEqual(['ModifyingVolume', 'ModifyVolumeError'])
  })
})

describe('lost driver', () => {
  it('a modification records no error if the driver disconnects, and repeats the call with the same class', async () => {
    await begin()
    fixture.driver.modify = (call) => {
      fixture.driver.lose()
      return failing(CODES.Unavailable, 'connection lost')(call)
    }
    await want('gold')
    await want('silver')
    await fixture.clock.advance(60_000)
    expect(fixture.takeWire()).toEqual([CLAIM, MODIFY])
    expect(fixture.takeEvents()).toHaveLength(1)
    fixture.driver.modify = () => ({})
    fixture.driver.calls.splice(0)
    fixture.driver.return()
    await fixture.clock.settle()
    const parameters = fixture.driver.calls.map(
      ({ request }) => (request as { mutableParameters: object }).mutableParameters,
    )
    expect(parameters).toEqual([{ iops: 'gold' }, { iops: 'silver' }])
  })

  it('a modification whose driver disconnects logs the error of the call', async () => {
    await begin()
    fixture.driver.modify = (call) => {
      fixture.driver.lose()
      return failing(CODES.Unavailable, 'connection lost')(call)
    }
    await want('gold')
    const message = fixture.log.lines.flatMap(({ error }) => (error === undefined ? [] : [messageOf(error)]))
    expect(message).toEqual(['rpc error: code = Unavailable desc = connection lost'])
  })
})

describe('missing volume', () => {
  it('a modification whose volume is missing waits until the volume is created', async () => {
    await begin({ wantedClass: 'gold' })
    await fixture.kill()
    fixture.cluster.delete(PERSISTENT_VOLUMES, VOLUME_REF)
    await want('silver')
    await fixture.start()
    await fixture.clock.advance(100_000)
    fixture.takeWire()
    fixture.cluster.store(PERSISTENT_VOLUMES, volume())
    await fixture.clock.settle()
    expect(fixture.takeWire()).toEqual([CLAIM, MODIFY, VOLUME, CLAIM])
  })
})
