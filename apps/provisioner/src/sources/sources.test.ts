import { describe, expect, it } from '@jest/globals'
import { claimProjection, type DataSource, type ProvisionerClaim } from '../caches/claim.ts'
import { projectClass } from '../caches/cluster.ts'
import { checkOriginal } from './clone.ts'
import { type ClaimSource, sourceOf } from './data-source.ts'
import { expansionNotice, whyUnusable } from './snapshot.ts'

const CLASS = projectClass({ metadata: { name: 'class' }, provisioner: 'driver' })
const GROUP = 'snapshot.storage.k8s.io'

function claimOf(name: string, spec: object = {}, rest: { status?: object; metadata?: object } = {}): ProvisionerClaim {
  return claimProjection('finalizer')({
    metadata: { namespace: 'ns', name, uid: name, ...rest.metadata },
    spec: { storageClassName: 'class', resources: { requests: { storage: '2Gi' } }, ...spec },
    status: rest.status,
  })
}

describe('sourceOf', () => {
  const snapshot = { apiGroup: GROUP, kind: 'VolumeSnapshot', name: 's' }
  const clone = { kind: 'PersistentVolumeClaim', name: 'c' }
  it.each<[string, { dataSource?: DataSource; dataSourceRef?: DataSource }, Partial<ClaimSource> | undefined]>([
    ['no source', {}, undefined],
    ['a snapshot', { dataSource: snapshot }, { kind: 'VolumeSnapshot', namespace: 'ns', name: 's' }],
    ['a claim', { dataSource: clone }, { kind: 'PersistentVolumeClaim', name: 'c' }],
    ['the source in dataSourceRef', { dataSourceRef: clone }, { kind: 'PersistentVolumeClaim', name: 'c' }],
    ['dataSource before dataSourceRef', { dataSource: snapshot, dataSourceRef: clone }, { kind: 'VolumeSnapshot' }],
  ])('`sourceOf` finds %s', (_what, spec, expected) => {
    const found = sourceOf(claimOf('claim', spec))
    if (expected === undefined) expect(found).toBeUndefined()
    else expect(found).toMatchObject(expected)
  })

  it.each<[string, { dataSource?: DataSource; dataSourceRef?: DataSource }]>([
    ['the PVC source not found for PVC claim', { dataSource: { kind: 'PersistentVolumeClaim', name: '' } }],
    [`Expected ${GROUP}, Got x`, { dataSource: { ...snapshot, apiGroup: 'x' } }],
    ['the CrossNamespaceVolumeDataSource feature is disabled', { dataSourceRef: { ...snapshot, namespace: 'other' } }],
    ['data source (Data) is not handled', { dataSourceRef: { apiGroup: 'x', kind: 'Data', name: 'd' } }],
  ])('`sourceOf` refuses with: %s', (message, spec) => {
    expect(() => sourceOf(claimOf('claim', spec))).toThrow(message)
  })
})

describe('whyUnusable', () => {
  const ALLOW = 'snapshot.storage.kubernetes.io/allow-volume-mode-change'
  const ref = { uid: 'u', namespace: 'ns', name: 's' }
  const block = { driver: 'driver', volumeSnapshotRef: ref, sourceVolumeMode: 'Block' }
  const ready = { readyToUse: true, restoreSize: '2Gi' }

  function reasonOf(
    objects: { spec?: object; annotations?: Record<string, string>; handle?: string; status?: object } = {},
    prevents = true,
  ): string | undefined {
    const { spec, annotations, handle = 'h', status = ready } = objects
    const claim = claimOf('claim', { volumeMode: 'Filesystem' })
    const source = { kind: 'VolumeSnapshot', namespace: 'ns', name: 's' } as const
    return whyUnusable(
      { claim, class: CLASS, source, preventModeConversion: prevents },
      { metadata: ref, spec: { source: {} }, status } as never,
      {
        metadata: { name: 'c', annotations },
        spec: { driver: 'driver', volumeSnapshotRef: ref, ...spec },
        status: { snapshotHandle: handle },
      } as never,
    )
  }

  it.each<[string, Parameters<typeof reasonOf>[0], string | undefined]>([
    ['accepts a ready snapshot', {}, undefined],
    ['accepts an unknown size', { status: { readyToUse: true } }, undefined],
    ['compares the UID', { spec: { volumeSnapshotRef: { ...ref, uid: 'x' } } }, 'bound to a different snapshot'],
    ['compares the driver', { spec: { driver: 'x' } }, 'is not handled by CSI driver of StorageClass class'],
    ['waits until the snapshot is ready', { status: { readyToUse: false } }, 'snapshot s is not Ready'],
    ['compares the size', { status: { ...ready, restoreSize: '3Gi' } }, 'is less than the size 3221225472'],
    ['compares the mode', { spec: block }, 'annotation is not present on snapshotcontent c'],
    ['accepts an allowed mode', { spec: block, annotations: { [ALLOW]: '1' } }, undefined],
    ['refuses a forbidden mode', { spec: block, annotations: { [ALLOW]: 'FALSE' } }, 'is set to false'],
    ['refuses an unreadable permission', { spec: block, annotations: { [ALLOW]: 'tRUE' } }, 'parsing "tRUE"'],
  ])('`whyUnusable` %s', (_what, objects, expected) => {
    if (expected === undefined) expect(reasonOf(objects)).toBeUndefined()
    else expect(reasonOf(objects)).toContain(expected)
  })

  it.each([
    ['1Gi', 'is greater than the size 1073741824 for the source snapshot s. Volume plugin needs to handle volume'],
    ['2Gi', undefined],
    [undefined, undefined],
  ])('`expansionNotice` for a claim of 2Gi and a snapshot of %s is %j', (restoreSize, expected) => {
    const source = { kind: 'VolumeSnapshot', namespace: 'ns', name: 's' } as const
    const restore = { claim: claimOf('claim'), class: CLASS, source, preventModeConversion: true }
    const notice = expansionNotice(restore, { metadata: { name: 's' }, spec: { source: {} }, status: { restoreSize } })
    expect(notice).toEqual(expected === undefined ? undefined : expect.stringContaining(expected))
  })

  it('without --prevent-volume-mode-conversion, a claim may change the volume mode of its snapshot', () => {
    expect(reasonOf({ spec: block }, false)).toBeUndefined()
  })
})

describe('checkOriginal', () => {
  const source = { kind: 'PersistentVolumeClaim', namespace: 'ns', name: 'o' } as const
  const BOUND_STATUS = { status: { phase: 'Bound' } }
  const check = (original: ProvisionerClaim | undefined, claim = claimOf('claim')) =>
    checkOriginal({ claim, class: CLASS, source, original })

  it('the check of a clone accepts a bound source claim that is not larger than the new claim', () => {
    const original = claimOf('o', { volumeName: 'pv' }, BOUND_STATUS)
    expect(check(original)).toBe(original)
  })

  it.each<[string, ProvisionerClaim | undefined, ProvisionerClaim?]>([
    ['persistentvolumeclaim "o" not found', undefined],
    [
      'must have a status of Bound.  Got {Pending [] map[] [] map[] map[] <nil> nil}',
      claimOf('o', {}, { status: { phase: 'Pending' } }),
    ],
    ['is currently being deleted', claimOf('o', {}, { ...BOUND_STATUS, metadata: { deletionTimestamp: 'now' } })],
    ['the source PVC (o) storageclass', claimOf('o', { storageClassName: undefined }, BOUND_STATUS)],
    [
      'the requested PVC (claim) storageclass',
      claimOf('o', {}, BOUND_STATUS),
      claimOf('claim', { storageClassName: undefined }),
    ],
    [
      'requested 2147483648 but source is 3221225472',
      claimOf('o', { resources: { requests: { storage: '3Gi' } } }, BOUND_STATUS),
    ],
    ['volume name is empty in source PVC o', claimOf('o', {}, BOUND_STATUS)],
  ])('`checkOriginal` refuses with: %s', (message, ...[original, claim]) => {
    expect(() => check(original, claim)).toThrow(message)
  })
})
