import { CODES, type CodeName } from '@csi-sidecars/csi'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { HANG } from '@csi-sidecars/testkit'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { claim, VOLUME_REF, volume } from '../src/testing/builders.ts'
import { apiError } from '../src/testing/fake-cluster.ts'
import { failing, requiredGi, willing } from '../src/testing/fake-driver.ts'
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

const failure = (code: string) => `rpc error: code = ${code} desc = it went wrong`
const failedEvent = (code: string) =>
  `Warning VolumeResizeFailed: resize volume "pv-data" by resizer "csi.example.com" failed: ${failure(code)}`

it('a resizer that has lost its Lease records no events for late responses of the driver', async () => {
  fixture.driver.expand = (call) => {
    fixture.takeEvents()
    fixture.loseLease()
    return failing(CODES.Unavailable, 'it went wrong')(call)
  }
  await fixture.request('2Gi')
  expect(fixture.driver.calls).toHaveLength(1)
  expect(fixture.takeEvents()).toEqual([])
})

it('a started resizer processes a new claim before it retries the failed claims of the last leader', async () => {
  await fixture.kill()
  for (let index = 0; index < 60; index += 1) {
    const name = `bad-${index}`
    fixture.cluster.store(PERSISTENT_VOLUMES, volume({ name }))
    const tried = { name, request: '2Gi', allocated: '2Gi', sizeStatus: 'ControllerResizeInProgress' }
    fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim(tried))
  }
  const isBad = (request: unknown): boolean => (request as { volumeId: string }).volumeId.startsWith('handle-bad')
  fixture.driver.expand = (call) => (isBad(call.request) ? new Promise(() => undefined) : willing(call))
  await fixture.start()
  const retries = fixture.driver.calls.length
  expect([retries > 0, retries < 60]).toEqual([true, true])
  await fixture.request('2Gi')
  expect(fixture.driver.calls).toHaveLength(retries + 1)
  expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
})

describe('driver refusals', () => {
  it.each<CodeName>(['InvalidArgument', 'OutOfRange', 'NotFound'])(
    '%s from ControllerExpandVolume makes the size infeasible',
    async (code) => {
      fixture.driver.expand = failing(CODES[code], 'it went wrong')
      await fixture.request('2Gi')
      expect(fixture.takeWire()).toEqual([CLAIM, EXPAND, CLAIM])
      expect(fixture.wire).toEqual([])
      expect(fixture.claim.status).toMatchObject({
        allocatedResources: { storage: '2Gi' },
        allocatedResourceStatuses: { storage: 'ControllerResizeInfeasible' },
        conditions: [
          { type: 'Resizing' },
          { type: 'ControllerResizeError', status: 'True', message: `failed to expand pvc with ${failure(code)}` },
        ],
      })
      expect(fixture.takeEvents().at(-1)).toBe(failedEvent(code))
    },
  )

  it.each<CodeName>([
    'Unknown',
    'AlreadyExists',
    'PermissionDenied',
    'Unimplemented',
    'Internal',
    'DataLoss',
    'Unauthenticated',
  ])('%s from ControllerExpandVolume means that the call has failed, but the size is feasible', async (code) => {
    fixture.driver.expand = failing(CODES[code], 'it went wrong')
    await fixture.request('2Gi')
    expect(fixture.takeWire()).toEqual([CLAIM, EXPAND, CLAIM])
    expect(fixture.claim.status).toMatchObject({
      allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
      conditions: [{ type: 'Resizing' }, { type: 'ControllerResizeError' }],
    })
    expect(fixture.takeEvents().at(-1)).toBe(failedEvent(code))
  })

  it.each<CodeName>(['Canceled', 'DeadlineExceeded', 'Unavailable', 'ResourceExhausted', 'Aborted'])(
    '%s from ControllerExpandVolume means that the expansion may be running, so the claim is not changed',
    async (code) => {
      fixture.driver.expand = failing(CODES[code], 'it went wrong')
      await fixture.request('2Gi')
      expect(fixture.takeWire()).toEqual([CLAIM, EXPAND])
      expect(fixture.takeEvents().at(-1)).toBe(failedEvent(code))
    },
  )

  it('the resizer retries a refused expansion after pauses that double', async () => {
    fixture.driver.expand = failing(CODES.Internal, 'it went wrong')
    await fixture.request('2Gi')
    expect(await fixture.callsWithin(70)).toEqual([1, 3, 7, 15, 31, 63])
  })

  it('the resizer sends the patches of a retried expansion with low priority', async () => {
    const seen: string[] = []
    fixture.cluster.onRequest = ({ verb, resource, priority }) => {
      if (verb === 'patch') seen.push(`${resource}${priority === undefined ? '' : ` ${priority}`}`)
    }
    fixture.driver.expand = failing(CODES.Internal, 'it went wrong')
    await fixture.request('2Gi')
    await fixture.clock.advance(1_500)
    expect(seen.splice(0)).toEqual([CLAIM, CLAIM, `${CLAIM} low`, `${CLAIM} low`])
    fixture.driver.expand = willing
    await fixture.clock.advance(2_000)
    expect(seen).toEqual([`${CLAIM} low`, VOLUME, CLAIM])
  })

  it('the resizer retries a refused expansion after the pause that the driver asks for', async () => {
    fixture.driver.expand = failing(CODES.ResourceExhausted, 'it went wrong', 3000)
    await fixture.request('2Gi')
    expect(await fixture.callsWithin(10)).toEqual([3, 6, 9])
  })

  it('the resizer retries an infeasible expansion after the pause that the driver asks for', async () => {
    fixture.driver.expand = failing(CODES.OutOfRange, 'it went wrong', 3000)
    await fixture.request('2Gi')
    expect(await fixture.callsWithin(10)).toEqual([3, 6, 9])
  })

  it('a refused expansion is retried with the usual back-off if the driver requests a pause of 0', async () => {
    fixture.driver.expand = failing(CODES.ResourceExhausted, 'it went wrong', 0)
    await fixture.request('2Gi')
    expect(await fixture.callsWithin(10)).toEqual([1, 3, 7])
  })

  it('the resizer retries an infeasible size after one second, and then every five minutes', async () => {
    fixture.driver.expand = failing(CODES.OutOfRange, 'it went wrong')
    await fixture.request('2Gi')
    expect(await fixture.callsWithin(700)).toEqual([1, 301, 601])
  })

  it('after a refusal, the resizer tries a newly requested size at once', async () => {
    fixture.driver.expand = failing(CODES.OutOfRange, 'it went wrong')
    await fixture.request('5Gi')
    await fixture.clock.advance(10_000)
    fixture.driver.expand = willing
    fixture.takeWire()
    await fixture.request('2Gi')
    expect(fixture.takeWire()).toEqual([CLAIM, EXPAND, VOLUME, CLAIM])
    expect(fixture.claim.status).toEqual({
      phase: 'Bound',
      capacity: { storage: '2Gi' },
      allocatedResources: { storage: '2Gi' },
    })
  })

  it('the resizer tries a smaller size only after the driver has finally refused the larger size', async () => {
    fixture.driver.expand = failing(CODES.DeadlineExceeded, 'it went wrong')
    await fixture.request('5Gi')
    await fixture.clock.advance(100_000)
    fixture.driver.calls.splice(0)
    await fixture.request('2Gi')
    expect(fixture.driver.calls.map(requiredGi)).toEqual(['5Gi'])
    fixture.driver.expand = failing(CODES.Internal, 'it went wrong')
    await fixture.clock.advance(1_000)
    expect(fixture.driver.calls.slice(1).map(requiredGi)).toEqual(['5Gi', '2Gi'])
    expect(await fixture.callsWithin(10)).toEqual([1, 3, 7])
  })

  it('the resizer tries a smaller size at once if the volume is already larger', async () => {
    // The volume is expanded to 3Gi, but the process ends before it can write that to the claim.
    fixture.cluster.before = ({ resource }) =>
      resource === CLAIM && fixture.driver.calls.length > 0 ? HANG : undefined
    await fixture.request('3Gi')
    await fixture.kill()
    fixture.cluster.before = () => undefined
    await fixture.request('5Gi')
    fixture.driver.expand = failing(CODES.Internal, 'it went wrong')
    await fixture.start()
    await fixture.clock.advance(1_000)
    fixture.driver.calls.splice(0)
    await fixture.request('2Gi')
    expect(fixture.driver.calls.map(requiredGi)).toEqual(['2Gi'])
  })

  it('after a restart, the resizer tries the recorded size before a smaller requested size', async () => {
    fixture.driver.expand = failing(CODES.Internal, 'it went wrong')
    await fixture.request('5Gi')
    await fixture.kill()
    await fixture.request('2Gi')
    fixture.driver.calls.splice(0)
    await fixture.start()
    expect(fixture.driver.calls.map(requiredGi)).toEqual(['5Gi', '2Gi'])
  })
})

describe('small sizes', () => {
  it.each([
    [0n, '0'],
    [2n ** 30n, '1Gi'],
    [2n ** 31n - 1n, '2147483647'],
    [-1n, '-1'],
  ])('an expansion fails and names both sizes if the driver returns %s bytes', async (capacityBytes, text) => {
    fixture.driver.expand = () => ({ capacityBytes, nodeExpansionRequired: false })
    await fixture.request('2Gi')
    expect(fixture.takeWire()).toEqual([CLAIM, EXPAND, CLAIM])
    const problem = `the driver answered a size of ${text} where at least 2Gi was asked for`
    expect(fixture.takeEvents().at(-1)).toBe(
      `Warning VolumeResizeFailed: resize volume "pv-data" by resizer "csi.example.com" failed: ${problem}`,
    )
    expect(fixture.claim.status?.conditions).toMatchObject([
      { type: 'Resizing' },
      { type: 'ControllerResizeError', message: `failed to expand pvc with ${problem}` },
    ])
    expect(fixture.cluster.find(PERSISTENT_VOLUMES, VOLUME_REF)?.spec?.capacity).toEqual({ storage: '1Gi' })
    expect(await fixture.callsWithin(4)).toEqual([1, 3])
  })
})

describe('refused patches', () => {
  const refuse = (target: string, error: Error, times = 1): void => {
    let left = times
    fixture.cluster.before = (request) => {
      if (request.verb !== 'patch' || request.resource !== target || left === 0) return
      left -= 1
      throw error
    }
  }

  it('an expansion makes no CSI call if its start cannot be recorded in the claim', async () => {
    refuse(CLAIM, apiError(500, 'InternalError', 'etcd is away'))
    await fixture.request('2Gi')
    expect(fixture.takeWire()).toEqual([CLAIM])
    expect(fixture.takeEvents()).toEqual([])
    expect(fixture.errors).toEqual([
      `Error syncing PVC: marking pvc "ns/data" as resizing failed: can't patch status of  PVC ns/data with etcd is away`,
    ])
    await fixture.clock.advance(1_000)
    expect(fixture.takeWire()).toEqual([CLAIM, EXPAND, VOLUME, CLAIM])
  })

  it('an expansion records an event and repeats the call if the size of the volume cannot be saved', async () => {
    refuse(VOLUME, apiError(403, 'Forbidden', 'not you'))
    await fixture.request('2Gi')
    expect(fixture.takeWire()).toEqual([CLAIM, EXPAND, VOLUME])
    expect(fixture.takeEvents().at(-1)).toBe(
      'Warning VolumeResizeFailed: error updating pv "pv-data" by resizer: ' +
        'updating capacity of PV "pv-data" to 2Gi failed: update capacity of PV pv-data failed: not you',
    )
    await fixture.clock.advance(1_000)
    expect(fixture.takeWire()).toEqual([CLAIM, EXPAND, VOLUME, CLAIM])
  })

  it.each([
    [false, 'resize finished'],
    [true, 'node expansion required'],
  ])('an event reports that a result cannot be saved (node step: %s)', async (nodeExpansionRequired, message) => {
    fixture.driver.expand = () => {
      refuse(CLAIM, apiError(500, 'InternalError', 'etcd is away'))
      return { capacityBytes: 2n ** 31n, nodeExpansionRequired }
    }
    await fixture.request('2Gi')
    expect(fixture.takeWire()).toEqual([CLAIM, EXPAND, VOLUME, CLAIM])
    expect(fixture.takeEvents().at(-1)).toBe(
      `Warning VolumeResizeFailed: mark PVC "ns/data" as ${message} failed: can't patch status of  PVC ns/data with etcd is away`,
    )
  })

  it('an expansion records an event with both errors if the error of the driver cannot be saved', async () => {
    fixture.driver.expand = (call) => {
      refuse(CLAIM, apiError(500, 'InternalError', 'etcd is away'))
      return failing(CODES.Internal, 'it went wrong')(call)
    }
    await fixture.request('2Gi')
    expect(fixture.takeEvents().at(-1)).toBe(
      `Warning VolumeResizeFailed: resizing failed in controller with ${failure('Internal')} but failed to update PVC ` +
        `ns/data with: mark PVC "ns/data" as controller expansion failed, errored with: ` +
        `can't patch status of  PVC ns/data with etcd is away`,
    )
  })

  it.each([CLAIM, VOLUME])('a patch of %s that the API server refuses with 429 records no event', async (target) => {
    refuse(target, apiError(429, 'TooManyRequests', 'slow down'), 1)
    await fixture.request('2Gi')
    await fixture.clock.advance(1_000)
    expect(fixture.takeEvents().filter((event) => event.startsWith('Warning'))).toEqual([])
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })
})
