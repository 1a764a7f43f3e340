import { describe, expect, it } from '@jest/globals'
import type { CachedContent } from '../caches/snapshot.ts'
import { boundPair, content, DRIVER, snapshot } from '../testing/objects.ts'
import { decideSnapshot, type SnapshotView } from './decide.ts'

const READY = { readyToUse: true, creationTime: '2026-11-26T00:00:00Z', restoreSize: '1Gi' }

const decide = (change: Partial<SnapshotView>) =>
  decideSnapshot({
    snapshot: snapshot(),
    content: undefined,
    source: boundPair().volume,
    snapshotClass: { driver: DRIVER, deletionPolicy: 'Delete' },
    ...change,
  })

describe('a VolumeSnapshot', () => {
  it('a new VolumeSnapshot gets the finalizer first', () => {
    expect(decide({ snapshot: snapshot({ finalizers: undefined }) })).toMatchObject({ kind: 'patch', status: false })
  })

  it('a VolumeSnapshot gets a VolumeSnapshotContent with the volume handle and the deletion policy of the class', () => {
    expect(decide({})).toEqual({
      kind: 'createContent',
      content: {
        metadata: {
          name: 'snapcontent-uid-backup',
          finalizers: ['snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection'],
        },
        spec: {
          driver: DRIVER,
          deletionPolicy: 'Delete',
          volumeSnapshotClassName: 'fast',
          source: { volumeHandle: 'handle-pv-1' },
          sourceVolumeMode: 'Filesystem',
          volumeSnapshotRef: {
            apiVersion: 'snapshot.storage.k8s.io/v1',
            kind: 'VolumeSnapshot',
            name: 'backup',
            namespace: 'default',
            uid: 'uid-backup',
          },
        },
      },
    })
  })

  it.each<[string, Partial<SnapshotView>, string]>([
    ['its claim has no volume', { source: undefined }, 'claim data of snapshot default/backup has no CSI volume'],
    ['it names no class', { snapshotClass: undefined }, 'snapshot default/backup names no VolumeSnapshotClass'],
    ['it has no claim', { snapshot: snapshot({ claim: '' }) }, 'snapshot default/backup has no claim as its source'],
  ])('a VolumeSnapshot waits if %s', (_, change, message) => {
    expect(decide(change)).toEqual({ kind: 'fail', message })
  })

  it('the state of a VolumeSnapshotContent is written to its VolumeSnapshot only once', () => {
    const body = {
      status: { boundVolumeSnapshotContentName: 'snapcontent-uid-backup', ...READY, error: null },
    }
    const ready = content(READY)
    expect(decide({ content: ready })).toEqual({ kind: 'patch', patch: { kind: 'merge', body }, status: true })
    const same = snapshot({ ...READY, contentName: ready.key })
    expect(decide({ content: ready, snapshot: same })).toBeUndefined()
  })

  it('a VolumeSnapshot gets the error of its VolumeSnapshotContent', () => {
    expect(decide({ content: content({ error: 'no room' }) })).toMatchObject({
      patch: { body: { status: { readyToUse: false, error: { message: 'no room' } } } },
    })
  })

  const deleted = snapshot({ deleting: true })
  const release = { kind: 'patch', status: false }
  it.each<[string, CachedContent | undefined, object | undefined]>([
    ['first deletes its content object', content(), { kind: 'deleteContent', name: 'snapcontent-uid-backup' }],
    ['waits until its VolumeSnapshotContent is gone', content({ deleting: true }), undefined],
    ['loses its finalizer, and a retained VolumeSnapshotContent stays', content({ policy: 'Retain' }), release],
    ['loses its finalizer if it has no VolumeSnapshotContent', undefined, release],
  ])('a deleted VolumeSnapshot %s', (_, snapshotContent, step) => {
    const decided = decide({ snapshot: deleted, content: snapshotContent })
    if (step === undefined) expect(decided).toBeUndefined()
    else expect(decided).toMatchObject(step)
  })
})
