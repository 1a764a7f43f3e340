import type { WorkSubject } from '@csi-sidecars/controller'
import { describe, expect, it } from '@jest/globals'
import { projectClaim, type ResizerClaim } from '../caches/claim.ts'
import { SIZE_STATUS } from '../caches/names.ts'
import { projectClass } from '../caches/open.ts'
import { type ResizerVolume, volumeProjection } from '../caches/volume.ts'
import { modificationOf } from '../modify/pending.ts'
import { attributesClass, type ClaimFields, claim, DRIVER, type VolumeFields, volume } from '../testing/builders.ts'
import { expansionOf } from './pending.ts'

const claimOf = (fields: ClaimFields): ResizerClaim => projectClaim(claim(fields))
const volumeOf = (fields?: VolumeFields): ResizerVolume => volumeProjection(DRIVER)(volume(fields))
const OBJECT = { kind: 'PersistentVolumeClaim', namespace: 'ns', name: 'data', uid: 'uid-data' }

describe('expansionOf', () => {
  const pendingExpansion = (
    fields: ClaimFields,
    pv: ResizerVolume | undefined = volumeOf(),
    inUse = false,
  ): WorkSubject | undefined =>
    expansionOf(claimOf(fields), {
      volumes: { get: () => pv },
      driverName: DRIVER,
      inUse: { wasRefused: () => inUse },
      nodeDeployment: false,
    })
  const EXPAND = { operation: 'expand', object: OBJECT, volume: 'pv-data' }

  it('a claim has a pending expansion while it requests more than its capacity', () => {
    expect(pendingExpansion({ request: '2Gi' })).toEqual(EXPAND)
  })

  it.each<[string, ClaimFields, ResizerVolume]>([
    ['a claim with the requested size in another notation', { request: '1024Mi' }, volumeOf()],
    ['a claim that is not bound', { request: '2Gi', status: { phase: 'Lost' } }, volumeOf()],
    ["another driver's volume", { request: '2Gi' }, volumeOf({ driver: 'other' })],
    [
      'an expansion that only the node has to finish',
      { request: '2Gi', allocated: '2Gi', sizeStatus: SIZE_STATUS.nodePending },
      volumeOf(),
    ],
  ])('`expansionOf` returns undefined for %s', (_, fields, pv) => {
    expect(pendingExpansion(fields, pv)).toBeUndefined()
  })

  it('a claim has a pending expansion if it requests more than the size that the kubelet is applying', () => {
    expect(pendingExpansion({ request: '3Gi', allocated: '2Gi', sizeStatus: SIZE_STATUS.nodePending })).toEqual(EXPAND)
  })

  const withoutVolume = (nodeDeployment: boolean): WorkSubject | undefined =>
    expansionOf(claimOf({ request: '2Gi' }), {
      volumes: { get: () => undefined },
      driverName: DRIVER,
      inUse: undefined,
      nodeDeployment,
    })

  it('`expansionOf` returns undefined with `--node-deployment` if the volume is not on this node', () => {
    expect(withoutVolume(true)).toBeUndefined()
  })

  it('a missing volume, an infeasible size and a volume in use are obstacles of an expansion', () => {
    const missing = withoutVolume(false)
    const infeasible = pendingExpansion({ request: '2Gi', sizeStatus: SIZE_STATUS.controllerInfeasible })
    const expansionInUse = pendingExpansion({ request: '2Gi' }, volumeOf(), true)
    expect([missing, infeasible, expansionInUse].map((subject) => subject?.obstacle)).toEqual([
      'PersistentVolumeMissing',
      'Infeasible',
      'VolumeInUse',
    ])
  })
})

describe('modificationOf', () => {
  const gold = projectClass(attributesClass('gold'))
  const pendingModification = (
    fields: ClaimFields,
    pv: ResizerVolume | undefined = volumeOf(),
  ): WorkSubject | undefined =>
    modificationOf(claimOf(fields), {
      volumes: { get: () => pv },
      classes: { get: (name) => (name === 'gold' ? gold : undefined) },
      nodeDeployment: false,
    })
  const MODIFY = { operation: 'modify', object: OBJECT, volume: 'pv-data' }
  const modifyStatus = (
    status: 'Pending' | 'InProgress' | 'Infeasible',
    target: string,
  ): NonNullable<ClaimFields['status']> => ({
    modifyVolumeStatus: { status, targetVolumeAttributesClassName: target },
  })

  it.each<[string, ClaimFields, object | undefined]>([
    ['returns a pending modification for a new class', { wantedClass: 'gold' }, MODIFY],
    ['returns a modification in progress as pending', { status: modifyStatus('InProgress', 'gold') }, MODIFY],
    ['returns undefined without a class', {}, undefined],
    [
      'returns undefined for the current class',
      { wantedClass: 'gold', status: { currentVolumeAttributesClassName: 'gold' } },
      undefined,
    ],
    [
      'names a missing class as the obstacle',
      { wantedClass: 'none' },
      { ...MODIFY, obstacle: 'VolumeAttributesClassMissing' },
    ],
    [
      'names the refusal of the driver as the obstacle',
      { wantedClass: 'gold', status: modifyStatus('Infeasible', 'gold') },
      { ...MODIFY, obstacle: 'Infeasible' },
    ],
  ])('`modificationOf` %s', (_, fields, subject) => {
    expect(pendingModification(fields)).toEqual(subject)
  })

  it("`modificationOf` returns undefined for another driver's volume", () => {
    expect(pendingModification({ wantedClass: 'gold' }, volumeOf({ driver: 'other' }))).toBeUndefined()
  })
})
