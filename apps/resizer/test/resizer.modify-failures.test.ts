import { CODES, type CodeName } from '@csi-sidecars/csi'
import type { ControllerModifyVolumeRequest } from '@csi-sidecars/csi-proto'
import { VOLUME_ATTRIBUTES_CLASSES } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { attributesClass, type ClaimFields } from '../src/testing/builders.ts'
import { apiError } from '../src/testing/fake-cluster.ts'
import { failing } from '../src/testing/fake-driver.ts'
import type { ResizerFixture } from '../src/testing/fixture.ts'
import { beginModify, wantClass } from '../src/testing/modify.ts'

const MODIFY = 'ControllerModifyVolume'
const CLAIM = 'persistentvolumeclaims/status'
const VOLUME = 'persistentvolumes'
const NOW = '2026-01-01T00:00:00Z'

let fixture: ResizerFixture

async function begin(...options: Parameters<typeof beginModify>): Promise<void> {
  fixture = await beginModify(...options)
}

const want = (name: string | null): Promise<void> => wantClass(fixture, name)

const modifyStatus = (status: string, target?: string) => ({
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

describe('driver refusals', () => {
  const text = (code: string) => `rpc error: code = ${code} desc = it went wrong`

  it('`InvalidArgument` from ControllerModifyVolume means that the class is infeasible', async () => {
    await begin()
    fixture.driver.modify = failing(CODES.InvalidArgument, 'it went wrong')
    await want('gold')
    expect(fixture.takeWire()).toEqual([CLAIM, MODIFY, CLAIM])
    expect(fixture.claim.status).toMatchObject({
      modifyVolumeStatus: modifyStatus('Infeasible', 'gold'),
      conditions: [
        condition('ModifyingVolume', 'Modifying volume to "gold" failed. Waiting for retry.'),
        condition('ModifyVolumeError', 'it went wrong', 'InvalidArgument'),
      ],
    })
    expect(fixture.takeEvents().at(-1)).toBe(`Warning VolumeModifyFailed: ${text('InvalidArgument')}`)
    expect(await fixture.callsWithin(700)).toEqual([511])
  })

  it.each<CodeName>(['NotFound', 'OutOfRange', 'Internal', 'FailedPrecondition', 'Unimplemented'])(
    '%s from ControllerModifyVolume means that the call has failed, but the class is feasible',
    async (code) => {
      await begin()
      fixture.driver.modify = failing(CODES[code], 'it went wrong')
      await want('gold')
      expect(fixture.claim.status).toMatchObject({
        modifyVolumeStatus: modifyStatus('InProgress', 'gold'),
        conditions: [
          condition('ModifyingVolume', 'Modifying volume to "gold" failed. Waiting for retry.'),
          condition('ModifyVolumeError', 'it went wrong', code),
        ],
      })
      expect(fixture.takeEvents().at(-1)).toBe(`Warning VolumeModifyFailed: ${text(code)}`)
      expect(await fixture.callsWithin(10)).toEqual([1, 3, 7])
    },
  )

  it.each<CodeName>(['DeadlineExceeded', 'Unavailable', 'Aborted', 'ResourceExhausted', 'Canceled'])(
    '%s from ControllerModifyVolume means that the modification may be running, so another class must wait',
    async (code) => {
      await begin()
      fixture.driver.modify = failing(CODES[code], 'it went wrong')
      await want('gold')
      expect(fixture.claim.status).toMatchObject({
        modifyVolumeStatus: modifyStatus('InProgress', 'gold'),
        conditions: [
          condition('ModifyingVolume', 'Modifying volume to "gold" is still in progress.'),
          condition('ModifyVolumeError', 'it went wrong', code),
        ],
      })
      expect(fixture.takeEvents().at(-1)).toBe(`Warning VolumeModifyFailed: ${text(code)}. Still modifying to VAC gold`)
      fixture.takeWire()
      await want('silver')
      expect(fixture.takeWire()).toEqual([MODIFY, CLAIM])
      fixture.driver.modify = () => ({})
      fixture.driver.calls.splice(0)
      await fixture.clock.advance(5_000)
      const parameters = fixture.driver.calls.map(
        ({ request }) => (request as { mutableParameters: object }).mutableParameters,
      )
      expect(parameters).toEqual([{ iops: 'gold' }, { iops: 'silver' }])
      expect(fixture.claim.status?.currentVolumeAttributesClassName).toBe('silver')
    },
  )

  it('after a refusal, the resizer tries a newly requested class at once', async () => {
    await begin()
    fixture.driver.modify = failing(CODES.InvalidArgument, 'it went wrong')
    await want('gold')
    fixture.driver.modify = () => ({})
    await want('silver')
    expect(fixture.claim.status?.currentVolumeAttributesClassName).toBe('silver')
    expect(fixture.claim.status?.conditions).toBeUndefined()
  })

  it('the resizer tries a recreated class at once', async () => {
    await begin()
    fixture.driver.modify = failing(CODES.InvalidArgument, 'it went wrong')
    await want('gold')
    await fixture.clock.advance(100_000)
    fixture.driver.modify = () => ({})
    fixture.cluster.delete(VOLUME_ATTRIBUTES_CLASSES, { name: 'gold' })
    await fixture.clock.advance(10)
    expect(fixture.claim.status?.currentVolumeAttributesClassName).toBeUndefined()
    fixture.cluster.store(VOLUME_ATTRIBUTES_CLASSES, attributesClass('gold'))
    await fixture.clock.advance(10)
    expect(fixture.claim.status?.currentVolumeAttributesClassName).toBe('gold')
  })

  it('the resizer retries a refused modification after the pause that the driver asks for', async () => {
    await begin()
    fixture.driver.modify = failing(CODES.InvalidArgument, 'it went wrong', 3000)
    await want('gold')
    expect(await fixture.callsWithin(10)).toEqual([3, 6, 9])
  })

  it.each<[CodeName, restarted: boolean]>([
    ['InvalidArgument', false],
    ['Internal', false],
    ['InvalidArgument', true],
    ['Internal', true],
  ])('after %s, the newly requested class starts at once (after a restart: %s)', async (code, restarted) => {
    await begin()
    fixture.driver.modify = failing(CODES.DeadlineExceeded, 'it went wrong')
    await want('gold')
    await fixture.clock.advance(100_000)
    await want('silver')
    if (restarted) await fixture.restart()
    fixture.driver.calls.splice(0)
    fixture.driver.modify = failing(CODES[code], 'it went wrong')
    await fixture.clock.advance(1_000)
    const classes = fixture.driver.calls.map(
      ({ request }) => (request as ControllerModifyVolumeRequest).mutableParameters,
    )
    expect(classes.slice(0, 2)).toEqual([{ iops: 'gold' }, { iops: 'silver' }])
    expect(fixture.driver.calls[1]?.at).toBe(fixture.driver.calls[0]?.at)
  })

  it('the resizer retries a refused modification at once if a new driver connects while the error is saved', async () => {
    await begin()
    fixture.driver.modify = (call) => {
      fixture.cluster.before = ({ resource }) => {
        if (resource !== CLAIM) return
        fixture.cluster.before = () => undefined
        fixture.driver.lose()
        fixture.driver.modify = () => ({})
        fixture.driver.return()
      }
      return failing(CODES.InvalidArgument, 'it went wrong')(call)
    }
    await want('gold')
    await fixture.clock.advance(1)
    expect(fixture.claim.status?.currentVolumeAttributesClassName).toBe('gold')
  })

  it('a repeated refusal updates the transition time of the error condition only if the reason changes', async () => {
    await begin()
    fixture.driver.modify = failing(CODES.Internal, 'it went wrong')
    await want('gold')
    await fixture.clock.advance(1_000)
    fixture.driver.modify = failing(CODES.Unknown, 'it went wrong')
    await fixture.clock.advance(2_000)
    const changedAt = '2026-01-01T00:00:03Z'
    expect(fixture.claim.status?.conditions).toMatchObject([
      { type: 'ModifyingVolume', lastProbeTime: changedAt, lastTransitionTime: NOW },
      { type: 'ModifyVolumeError', reason: 'Unknown', lastProbeTime: changedAt, lastTransitionTime: changedAt },
    ])
  })

  it('a refused modification records no event if the error cannot be saved', async () => {
    await begin()
    fixture.driver.modify = (call) => {
      fixture.cluster.before = ({ resource }) => {
        fixture.cluster.before = () => undefined
        if (resource === CLAIM) throw apiError(500, 'InternalError', 'etcd is away')
      }
      return failing(CODES.Internal, 'it went wrong')(call)
    }
    await want('gold')
    expect(fixture.takeEvents().filter((event) => event.startsWith('Warning'))).toEqual([])
    expect(fixture.errors).toEqual([
      `Error syncing PVC: mark PVC "data" as modify volume failed, errored with: can't patch status of  PVC ns/data with etcd is away`,
    ])
  })
})

describe('withdrawn request', () => {
  it('after a final failure, a withdrawn class request removes only the condition `ModifyingVolume`', async () => {
    await begin()
    fixture.driver.modify = failing(CODES.InvalidArgument, 'it went wrong')
    await want('gold')
    fixture.wire.splice(0)
    fixture.takeEvents()
    await want(null)
    expect(fixture.wire).toEqual([
      {
        target: CLAIM,
        body: {
          metadata: { uid: 'uid-data' },
          status: {
            '$setElementOrder/conditions': [{ type: 'ModifyVolumeError' }],
            conditions: [{ $patch: 'delete', type: 'ModifyingVolume' }],
          },
        },
      },
    ])
    expect(fixture.takeEvents()).toEqual(['Normal VolumeModifyCanceled: Cancelled modify.'])
    expect(fixture.claim.status?.modifyVolumeStatus).toEqual(modifyStatus('Infeasible', 'gold'))
  })

  it('a withdrawn request for a class does not stop a running modification', async () => {
    await begin()
    fixture.driver.modify = failing(CODES.Internal, 'it went wrong')
    await want('gold')
    fixture.driver.modify = () => ({})
    fixture.takeWire()
    await want(null)
    expect(fixture.takeWire()).toEqual([MODIFY, VOLUME, CLAIM])
    expect(fixture.claim.status?.currentVolumeAttributesClassName).toBe('gold')
  })
})

describe('earlier process', () => {
  const begun: ClaimFields = {
    wantedClass: 'silver',
    status: { modifyVolumeStatus: modifyStatus('InProgress', 'gold') },
  }

  it('the resizer first continues a modification that another process has begun', async () => {
    await begin(begun)
    expect(fixture.takeWire()).toEqual([MODIFY, VOLUME, CLAIM, CLAIM, MODIFY, VOLUME, CLAIM])
    expect(fixture.claim.status?.currentVolumeAttributesClassName).toBe('silver')
  })

  it('a modification that another process has begun waits if its class does not exist', async () => {
    await begin({ ...begun, status: { modifyVolumeStatus: modifyStatus('InProgress', 'bronze') } })
    await fixture.clock.advance(60_000)
    expect(fixture.takeWire()).toEqual([])
    expect(fixture.takeEvents()[0]).toBe('Warning VolumeModifyFailed: VAC "bronze" does not exist.')
    fixture.cluster.store(VOLUME_ATTRIBUTES_CLASSES, attributesClass('bronze'))
    await fixture.clock.settle()
    expect(fixture.claim.status?.currentVolumeAttributesClassName).toBe('silver')
  })
})
