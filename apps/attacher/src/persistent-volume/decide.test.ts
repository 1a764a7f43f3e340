import { describe, expect, it } from '@jest/globals'
import type { CachedVolume } from '../caches/volume.ts'
import { attachment, DRIVER, FINALIZER, volume, withFinalizer } from '../testing/views.ts'
import { concernsUs, decideRelease, hasLostFinalizer, needsFinalizer, releasePatch } from './decide.ts'

const settings = { driverName: DRIVER, finalizer: FINALIZER }
const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const inTree = (annotations?: Record<string, string>): CachedVolume =>
  volume({ awsElasticBlockStore: { volumeID: 'vol-1' } }, annotations && { annotations })
const UID = { op: 'test', path: '/metadata/uid', value: 'pv1-uid' }
const REMOVE = {
  kind: 'json',
  body: [
    UID,
    { op: 'test', path: '/metadata/finalizers/0', value: FINALIZER },
    { op: 'remove', path: '/metadata/finalizers/0' },
  ],
}

describe('releasePatch', () => {
  const rows: { name: string; pv: CachedVolume; attachments?: number; released: boolean }[] = [
    { name: 'in use', pv: volume(), released: false },
    { name: 'being deleted', pv: volume({}, DELETED), released: true },
    { name: 'being deleted, still attached somewhere', pv: volume({}, DELETED), attachments: 1, released: false },
    { name: 'in-tree, migrated to us', pv: inTree({ 'pv.kubernetes.io/migrated-to': DRIVER }), released: false },
    {
      name: 'in-tree, migrated to another driver',
      pv: inTree({ 'pv.kubernetes.io/migrated-to': 'x' }),
      released: true,
    },
    { name: 'in-tree, no longer migrated', pv: inTree(), released: true },
    { name: 'neither CSI nor translatable', pv: volume({ nfs: { server: 's', path: '/' } }), released: false },
  ]
  it.each(rows)('the finalizer of a volume ($name) is removed: $released', ({ pv, attachments = 0, released }) => {
    const patch = releasePatch(pv, Array(attachments).fill({}), settings)
    expect(patch).toEqual(released ? REMOVE : undefined)
  })

  it('the attacher plans no patch for a volume without its finalizer', () => {
    expect(releasePatch(volume({}, { ...DELETED, finalizers: ['a/b'] }), [], settings)).toBeUndefined()
  })

  it('the attacher removes only its own finalizer, at any position in the list', () => {
    const patch = releasePatch(volume({}, { ...DELETED, finalizers: ['a/b', FINALIZER, 'c/d'] }), [], settings)
    expect(patch?.body).toEqual([
      UID,
      { op: 'test', path: '/metadata/finalizers/1', value: FINALIZER },
      { op: 'remove', path: '/metadata/finalizers/1' },
    ])
  })
})

describe('concernsUs', () => {
  it.each([
    ['deleted with our finalizer', volume({}, DELETED), true],
    ['deleted without our finalizer', volume({}, { ...DELETED, finalizers: ['a/b'] }), false],
    ['deleted without a list of finalizers', volume({}, { ...DELETED, finalizers: undefined }), false],
    ['alive', volume(), false],
    ['no longer migrated to our driver', inTree(), true],
  ])('the attacher decides whether a volume that is %s needs a run: case %#', (_, pv, concerned) => {
    expect(concernsUs(pv, settings)).toBe(concerned)
  })
})

describe('decideRelease', () => {
  const va = withFinalizer()
  const alone = volume({}, { finalizers: ['a/b'] })
  const awaitDetach = { kind: 'awaitDetach', waitsFor: [{ kind: 'attachment', name: va.key }] }
  it.each<[name: string, pv: CachedVolume, users: (typeof va)[], finalizerRemoved: boolean, plan: object[]]>([
    ['a volume in use keeps its finalizer', volume(), [va], false, []],
    [
      'a deleted volume loses its finalizer',
      volume({}, DELETED),
      [],
      false,
      [{ kind: 'removeFinalizer', patch: REMOVE }],
    ],
    ['a deleted volume waits for its attachments', volume({}, DELETED), [va], false, [awaitDetach]],
    ['the removed finalizer of a volume in use is restored', alone, [va], true, [{ kind: 'restoreFinalizer' }]],
    ['the removed finalizer of an unused volume is not restored', alone, [], true, []],
    ['a finalizer whose removal this process has not seen is not restored', alone, [va], false, []],
  ])('%s', (_, pv, attachments, finalizerRemoved, plan) => {
    expect(decideRelease({ pv, attachments, finalizerRemoved, settings })).toEqual(plan)
  })
})

describe('hasLostFinalizer', () => {
  const other = { finalizers: ['a/b'] }
  const none = { finalizers: undefined }

  it.each<[string, CachedVolume, CachedVolume, boolean]>([
    ['loses our finalizer', volume(), volume({}, other), true],
    ['loses all finalizers', volume(), volume({}, none), true],
    ['keeps our finalizer', volume(), volume({}, { finalizers: ['a/b', FINALIZER] }), false],
    ['has never had our finalizer', volume({}, other), volume({}, other), false],
    ['has never had a finalizer', volume({}, none), volume({}, none), false],
    ['gets our finalizer', volume({}, none), volume(), false],
    ['loses our finalizer in its deletion', volume({}, DELETED), volume({}, { ...DELETED, ...none }), false],
  ])(
    'another writer has removed our finalizer only from a volume that is not being deleted: a volume that %s',
    (...row) => {
      const [, before, after, expected] = row
      expect(hasLostFinalizer({ before, after }, settings)).toBe(expected)
    },
  )
})

describe('needsFinalizer', () => {
  const bare = volume({}, { finalizers: undefined })
  const leaving = { deleting: true }

  it.each<[string, CachedVolume, ReturnType<typeof attachment>, boolean]>([
    ['an attachment of this driver', bare, attachment(), true],
    ['an attachment of another driver', bare, attachment({ ours: false }), false],
    ['an attachment that this process still detaches', bare, withFinalizer(leaving), true],
    ['an attachment in deletion without our finalizer', bare, attachment(leaving), false],
    ['an attachment that another attacher detaches', bare, withFinalizer({ ...leaving, ours: false }), false],
    ['our finalizer already', volume(), attachment(), false],
    ['an attachment and is being deleted', volume({}, { ...DELETED, finalizers: undefined }), attachment(), false],
  ])('a volume needs our finalizer while this driver may have it attached: a volume with %s', (_, pv, va, expected) => {
    expect(needsFinalizer(pv, [va], settings)).toBe(expected)
  })
})
