import { CODES } from '@csi-sidecars/csi'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  SECRETS,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { attributesClass, type ClaimFields, claim, type VolumeFields, volume } from '../src/testing/builders.ts'
import { failing } from '../src/testing/fake-driver.ts'
import { ResizerFixture } from '../src/testing/fixture.ts'
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

describe('modification', () => {
  beforeEach(async () => {
    await begin()
    await want('gold')
  })

  it('the resizer patches a claim that requests a class, calls the driver, and patches volume and claim', () => {
    expect(fixture.wire).toEqual([
      {
        target: CLAIM,
        body: {
          metadata: { resourceVersion: expect.any(String) },
          status: {
            modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' },
            conditions: [condition('ModifyingVolume', 'Modifying volume to "gold" is in progress.')],
          },
        },
      },
      { target: MODIFY, body: { volumeId: 'handle-data', secrets: {}, mutableParameters: { iops: 'gold' } } },
      { target: VOLUME, body: { metadata: { uid: 'uid-pv-data' }, spec: { volumeAttributesClassName: 'gold' } } },
      {
        target: CLAIM,
        body: {
          metadata: { uid: 'uid-data' },
          status: {
            currentVolumeAttributesClassName: 'gold',
            modifyVolumeStatus: null,
            conditions: [{ $patch: 'delete', type: 'ModifyingVolume' }],
          },
        },
      },
    ])
  })

  it('the resizer records events at the start and at the end of a modification', () => {
    expect(fixture.takeEvents()).toEqual([
      'Normal VolumeModify: external resizer is modifying volume data with vac gold',
      'Normal VolumeModifySuccessful: external resizer modified volume data with vac gold successfully',
    ])
  })

  it('the resizer changes to another class and back to the first class with one call each', async () => {
    await want('silver')
    await want('gold')
    const parameters = fixture.driver.calls.map(
      ({ request }) => (request as { mutableParameters: object }).mutableParameters,
    )
    expect(parameters).toEqual([{ iops: 'gold' }, { iops: 'silver' }, { iops: 'gold' }])
    expect(fixture.claim.status).toMatchObject({ currentVolumeAttributesClassName: 'gold' })
    expect(fixture.claim.status?.modifyVolumeStatus).toBeUndefined()
    expect(fixture.claim.status?.conditions).toBeUndefined()
  })

  it('the resizer does no further work after a modification', async () => {
    fixture.takeWire()
    await fixture.clock.advance(3_600_000)
    expect(fixture.takeWire()).toEqual([])
  })
})

describe('request', () => {
  it('ControllerModifyVolume contains the names of claim and volume with `--extra-modify-metadata`', async () => {
    await begin({ wantedClass: 'gold' }, {}, { settings: { extraMetadata: true } })
    expect(fixture.driver.calls[0]?.request).toMatchObject({
      mutableParameters: {
        iops: 'gold',
        'csi.storage.k8s.io/pvc/name': 'data',
        'csi.storage.k8s.io/pvc/namespace': 'ns',
        'csi.storage.k8s.io/pv/name': 'pv-data',
      },
    })
  })

  const expandSecret = {
    csi: {
      driver: 'csi.example.com',
      volumeHandle: 'h',
      controllerExpandSecretRef: { name: 'expand', namespace: 'vault' },
    },
  }
  const name = 'volume.kubernetes.io/controller-modify-secret-name'
  const namespace = 'volume.kubernetes.io/controller-modify-secret-namespace'

  it.each<[name: string, volume: VolumeFields, secrets: object]>([
    [
      'the Secret for modifications',
      { spec: expandSecret, annotations: { [name]: 'modify', [namespace]: 'vault' } },
      { of: 'modify' },
    ],
    ['the Secret for expansions if there is no Secret for modifications', { spec: expandSecret }, { of: 'expand' }],
    [
      'the Secret for expansions if one of the two annotations is empty',
      { spec: expandSecret, annotations: { [name]: 'modify', [namespace]: '' } },
      { of: 'expand' },
    ],
    ['no Secret if the volume names none', {}, {}],
  ])('ControllerModifyVolume contains %s', async (_what, fields, secrets) => {
    fixture = new ResizerFixture()
    for (const each of ['modify', 'expand']) {
      const data = { of: Buffer.from(each).toString('base64') }
      fixture.cluster.store(SECRETS, { metadata: { name: each, namespace: 'vault' }, data })
    }
    fixture.cluster.store(VOLUME_ATTRIBUTES_CLASSES, attributesClass('gold'))
    fixture.cluster.store(PERSISTENT_VOLUMES, volume(fields))
    fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim({ wantedClass: 'gold' }))
    await fixture.start()
    expect(fixture.driver.calls[0]?.request).toMatchObject({ secrets })
  })

  it('a modification whose Secret is missing shows the error in an event, but not in the claim', async () => {
    await begin({ wantedClass: 'gold' }, { spec: expandSecret })
    expect(fixture.driver.calls).toEqual([])
    expect(fixture.takeWire()).toEqual([CLAIM])
    const why = 'error getting secret expand in namespace vault: secrets "expand" not found'
    expect(fixture.takeEvents().at(-1)).toBe(`Warning VolumeModifyFailed: ${why}`)
    expect(fixture.errors).toEqual([`Error syncing PVC: cannot get error status from modify volume err: ${why}`])
    expect(fixture.claim.status?.modifyVolumeStatus).toEqual(modifyStatus('InProgress', 'gold'))
  })
})

describe('other volumes', () => {
  it.each<[name: string, claim: ClaimFields, volume: VolumeFields]>([
    ["another driver's volume", {}, { driver: 'other.example.com' }],
    ['an in-tree volume', {}, { spec: { csi: undefined, nfs: { server: 's', path: '/' } } }],
    ['a claim that is not bound', { status: { phase: 'Pending' } }, {}],
  ])('the resizer does not modify %s', async (_what, fields, volumeParts) => {
    await begin({ wantedClass: 'gold', ...fields }, volumeParts)
    expect(fixture.takeWire()).toEqual([])
    expect(fixture.takeEvents()).toEqual([])
  })

  it('the resizer modifies even a volume that is bound to another claim', async () => {
    await begin({ wantedClass: 'gold' }, { uid: 'another' })
    expect(fixture.takeWire()).toEqual([CLAIM, MODIFY, VOLUME, CLAIM])
  })
})

describe('missing class', () => {
  it('a modification with a missing class keeps the status Pending until the class is created', async () => {
    await begin({ wantedClass: 'bronze' })
    expect(fixture.wire.splice(0)).toEqual([
      {
        target: CLAIM,
        body: {
          metadata: { resourceVersion: expect.any(String) },
          status: { modifyVolumeStatus: { status: 'Pending' } },
        },
      },
    ])
    expect(fixture.takeEvents()).toEqual(['Warning VolumeModifyFailed: VAC "bronze" does not exist.'])
    await fixture.clock.advance(3_600_000)
    expect(fixture.takeWire()).toEqual([])
    fixture.cluster.store(VOLUME_ATTRIBUTES_CLASSES, attributesClass('bronze'))
    await fixture.clock.settle()
    expect(fixture.takeWire()).toEqual([CLAIM, MODIFY, VOLUME, CLAIM])
    expect(fixture.claim.status).toMatchObject({ currentVolumeAttributesClassName: 'bronze' })
  })

  it('a modification starts even if its class is created while the status Pending is written', async () => {
    fixture = new ResizerFixture()
    fixture.cluster.store(PERSISTENT_VOLUMES, volume())
    fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim({ wantedClass: 'bronze' }))
    fixture.cluster.before = ({ resource }) => {
      if (resource === CLAIM) fixture.cluster.store(VOLUME_ATTRIBUTES_CLASSES, attributesClass('bronze'))
    }
    await fixture.start()
    expect(fixture.claim.status).toMatchObject({ currentVolumeAttributesClassName: 'bronze' })
  })

  it('a request for a missing class leaves the earlier target class in the status', async () => {
    await begin()
    fixture.driver.modify = failing(CODES.Internal, 'it went wrong')
    await want('gold')
    await want('bronze')
    expect(fixture.claim.status?.modifyVolumeStatus).toEqual(modifyStatus('Pending', 'gold'))
    expect(fixture.claim.status?.conditions?.map(({ type }) => type)).toEqual(['ModifyingVolume', 'ModifyVolumeError'])
  })
})

describe('foreign class', () => {
  it('a class of another driver is applied, and one event reports the mismatch despite several retries', async () => {
    fixture = await beginModify()
    fixture.cluster.store(VOLUME_ATTRIBUTES_CLASSES, { ...attributesClass('foreign'), driverName: 'other.example.com' })
    fixture.driver.modify = failing(CODES.Internal, 'it went wrong')
    await wantClass(fixture, 'foreign')
    await fixture.clock.advance(10_000)
    fixture.driver.modify = () => ({})
    await fixture.clock.advance(10_000)
    expect(fixture.claim.status?.currentVolumeAttributesClassName).toBe('foreign')
    const warnings = fixture.takeEvents().filter((event) => event.includes('VolumeModifyDriverMismatch'))
    expect(warnings).toEqual([
      'Warning VolumeModifyDriverMismatch: VAC "foreign" is for driver other.example.com, and its parameters are applied to a volume of driver csi.example.com',
    ])
    const lines = fixture.log.lines.filter(({ message }) => message === 'VolumeAttributesClass is for another driver')
    expect(lines).toHaveLength(1)
  })
})
