import { Interner } from '@csi-sidecars/informer'
import { describe, expect, it, jest } from '@jest/globals'
import { attributesClass, claim, volume } from '../testing/builders.ts'
import { projectClaim } from './claim.ts'
import { projectClass } from './open.ts'
import { volumeProjection, wholeVolume } from './volume.ts'

const EBS = 'ebs.csi.aws.com'

describe('projectClaim', () => {
  const full = claim({
    request: '2Gi',
    allocated: '2Gi',
    wantedClass: 'gold',
    annotations: {
      'volume.kubernetes.io/storage-resizer': EBS,
      'volume.kubernetes.io/node-expansion-not-required': 'true',
      'volume.kubernetes.io/storage-provisioner': EBS,
    },
    status: {
      allocatedResourceStatuses: { storage: 'NodeResizePending', 'example.com/x': 'NodeResizePending' },
      conditions: [{ type: 'Resizing', status: 'True' }],
      currentVolumeAttributesClassName: 'silver',
      modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' },
    },
  })

  it('`projectClaim` keeps the fields that decide about the size and the class of the claim', () => {
    expect(projectClaim({ ...full, metadata: { ...full.metadata, resourceVersion: '7', labels: { a: 'b' } } })).toEqual(
      {
        key: 'ns/data',
        resourceVersion: '7',
        uid: 'uid-data',
        volumeName: 'pv-data',
        phase: 'Bound',
        request: '2Gi',
        capacity: '1Gi',
        allocated: '2Gi',
        sizeStatus: 'NodeResizePending',
        otherStatuses: { 'example.com/x': 'NodeResizePending' },
        conditions: [{ type: 'Resizing', status: 'True' }],
        resizer: EBS,
        noNodeExpansion: 'true',
        wantedClass: 'gold',
        currentClass: 'silver',
        modifyVolumeStatus: { status: 'InProgress', target: 'gold' },
      },
    )
  })

  it("`projectClaim` keeps only the type of other controllers' conditions", () => {
    const unused = { type: 'Unused', status: 'True', reason: 'NoPod', message: 'long', lastTransitionTime: 'then' }
    const kept = projectClaim({
      ...full,
      status: { ...full.status, conditions: [unused, { type: 'Resizing', status: 'True' }] },
    })
    expect(kept.conditions).toEqual([
      { type: 'Unused', status: '' },
      { type: 'Resizing', status: 'True' },
    ])
  })

  it('the projections of claims with and without a volume have the same fields in the same order', () => {
    const bare = projectClaim({ ...full, spec: { ...full.spec, volumeName: undefined } })
    expect(Object.keys(bare)).toEqual(Object.keys(projectClaim(full)))
    expect(Object.values(bare).filter(Boolean)).toEqual(['ns/data', 'uid-data'])
  })

  it('`projectClaim` interns the strings that many claims have in common', () => {
    const interner = new Interner()
    const text = jest.spyOn(interner, 'text')
    projectClaim(full, interner)
    expect(text.mock.calls.flat().sort()).toEqual(
      ['1Gi', '2Gi', '2Gi', 'Bound', 'NodeResizePending', EBS, 'gold', 'silver', 'true'].sort(),
    )
  })
})

describe('volumeProjection', () => {
  it("`volumeProjection` keeps the fields of our driver's volumes that CSI calls need", () => {
    const csi = {
      driver: 'csi.example.com',
      volumeHandle: 'h',
      fsType: 'ext4',
      volumeAttributes: { large: 'thing' },
      controllerExpandSecretRef: { name: 's', namespace: 'n' },
    }
    const annotations = {
      'volume.kubernetes.io/controller-modify-secret-name': 'm',
      'volume.kubernetes.io/controller-modify-secret-namespace': 'n',
      'volume.alpha.kubernetes.io/pre-resize-capacity': '1Gi',
    }
    const kept = volumeProjection('csi.example.com')(
      volume({
        annotations,
        spec: { csi, volumeAttributesClassName: 'gold', mountOptions: ['ro'], volumeMode: 'Filesystem' },
      }),
    )
    const { volumeAttributes: _, ...called } = csi
    expect(kept).toEqual({
      key: 'pv-data',
      resourceVersion: '',
      uid: 'uid-pv-data',
      kind: 'own',
      capacity: '1Gi',
      preResize: '1Gi',
      claimNamespace: 'ns',
      claimName: 'data',
      claimUid: 'uid-data',
      source: {
        spec: { accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem', mountOptions: ['ro'], csi: called },
      },
      className: 'gold',
      modifySecret: { name: 'm', namespace: 'n' },
    })
  })

  it.each<[name: string, driverName: string, spec: object, kind: string]>([
    ['a CSI volume of another driver', EBS, {}, 'other'],
    [
      'an in-tree volume for a driver that replaces an in-tree plugin',
      EBS,
      { csi: undefined, gcePersistentDisk: { pdName: 'd' } },
      'inTree',
    ],
    [
      'an in-tree volume for a driver that replaces no in-tree plugin',
      'csi.example.com',
      { csi: undefined, gcePersistentDisk: { pdName: 'd' } },
      'other',
    ],
    ['a volume without CSI', EBS, { csi: undefined, nfs: { server: 's', path: '/' } }, 'other'],
  ])('`volumeProjection` returns the kind of %s: case %#', (_what, driverName, spec, kind) => {
    expect(volumeProjection(driverName)(volume({ spec })).kind).toBe(kind)
  })

  it("`volumeProjection` drops most fields of another driver's volume, but `wholeVolume` keeps these fields", () => {
    const foreign = volume({ driver: 'other' })
    const kept = volumeProjection('csi.example.com')(foreign)
    expect(Object.entries(kept).filter(([, value]) => value)).toEqual([
      ['key', 'pv-data'],
      ['uid', 'uid-pv-data'],
      ['kind', 'other'],
      ['capacity', '1Gi'],
    ])
    expect(wholeVolume(foreign)).toMatchObject({ claimUid: 'uid-data', source: { spec: { csi: { driver: 'other' } } } })
  })
})

it('the cache keeps the driver and the parameters of a VolumeAttributesClass', () => {
  expect(
    projectClass({ ...attributesClass('gold', { iops: '1' }), metadata: { name: 'gold', resourceVersion: '7' } }),
  ).toEqual({
    key: 'gold',
    resourceVersion: '7',
    uid: '',
    driverName: 'csi.example.com',
    parameters: { iops: '1' },
  })
})
