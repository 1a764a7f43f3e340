import { describe, expect, it } from '@jest/globals'
import { claim, pod, volume } from '../testing/objects.ts'
import { decideReclaim, type ReclaimView } from './reclaim.ts'
import { scrubberOf, volumeOfScrubber } from './scrubber.ts'

const BY = 'pv.kubernetes.io/provisioned-by'
const HOST_PATH = { csi: undefined, inTree: { is: 'hostPath' as const, path: '/tmp/data' } }
const NFS = { csi: undefined, inTree: { is: 'nfs' as const, server: 's', path: '/p' } }
const OTHER = { csi: undefined, inTree: { is: 'other' as const } }

const view = (change: Parameters<typeof volume>[0], rest: Partial<ReclaimView> = {}): ReclaimView => ({
  volume: volume({ phase: 'Released', ...change }),
  claim: undefined,
  users: [],
  scrubber: undefined,
  begun: undefined,
  ...rest,
})

const said = (given: ReclaimView): readonly string[] =>
  decideReclaim(given).map((step) => ('message' in step ? `${step.do} ${step.reason}: ${step.message}` : step.do))

const failed = (text: string): string => `fail VolumeFailedDelete: ${text}`
const noPlugin = 'error getting deleter volume plugin for volume "pv-1"'

describe('a volume to be deleted', () => {
  it.each([
    ['is its provisioner’s', { annotations: { [BY]: 'csi.example.com' } }, []],
    ['of CSI that was not provisioned is ignored', {}, []],
    ['of a migrated plugin is the driver’s', { ...OTHER, annotations: { 'pv.kubernetes.io/migrated-to': 'd' } }, []],
    ['of a host path goes', HOST_PATH, ['remove']],
    [
      'of a host path goes, also when its plugin has made it',
      { ...HOST_PATH, annotations: { [BY]: 'kubernetes.io/host-path' } },
      ['remove'],
    ],
    ['of a plugin that cannot', NFS, [failed(`${noPlugin}: no deletable volume plugin matched`)]],
    ['of a plugin that is not there', OTHER, [failed(`${noPlugin}: no volume plugin matched`)]],
    [
      'by a plugin that is not there',
      { annotations: { [BY]: 'kubernetes.io/x' } },
      [failed('no volume plugin matched name: kubernetes.io/x')],
    ],
    [
      'by a plugin that cannot',
      { annotations: { [BY]: 'kubernetes.io/nfs' } },
      [failed('no deletable volume plugin matched')],
    ],
    [
      'by the wrong plugin',
      { ...NFS, annotations: { [BY]: 'kubernetes.io/host-path' } },
      [failed('failed to create deleter for volume "pv-1": spec.PersistentVolumeSource.HostPath is nil')],
    ],
    [
      'of a host path that is not temporary',
      { ...HOST_PATH, inTree: { is: 'hostPath' as const, path: '/var/x' } },
      [failed('host_path deleter only supports /tmp/.+ but received provided /var/x')],
    ],
  ])('%s', (_, change, steps) => {
    expect(said(view({ reclaimPolicy: 'Delete', ...change }))).toEqual(steps)
  })

  it('keeps a volume with the policy `Retain`', () => {
    expect(said(view({ ...HOST_PATH, reclaimPolicy: 'Retain' }))).toEqual([])
  })
})

describe('a volume to be recycled', () => {
  const recycled = (rest: Partial<ReclaimView>, change = HOST_PATH as Parameters<typeof volume>[0]) =>
    said(view({ ...change, reclaimPolicy: 'Recycle' }, rest))
  const scrubber = (change: Parameters<typeof pod>[0]) => ({
    begun: 'uid-s',
    scrubber: pod({ uid: 'uid-s', ...change }),
  })
  const fail = (text: string): string => `fail VolumeFailedRecycle: ${text}`

  it.each([
    ['gets its scrubber', {}, ['scrub']],
    ['waits for its scrubber', scrubber({ phase: 'Running' }), []],
    [
      'is free when that has succeeded',
      scrubber({ phase: 'Succeeded' }),
      ['endScrub', 'report VolumeRecycled: Volume recycled', 'free'],
    ],
    [
      'fails with the scrubber',
      scrubber({ phase: 'Failed', message: 'no' }),
      ['endScrub', fail('Recycle failed: failed to recycle volume: no')],
    ],
    [
      'fails with a scrubber that does not say why',
      scrubber({ phase: 'Failed' }),
      ['endScrub', fail('Recycle failed: failed to recycle volume: pod failed, pod.Status.Message unknown')],
    ],
    [
      'fails when a user deletes the scrubber',
      { begun: 'uid-s' },
      ['endScrub', fail('Recycle failed: failed to recycle volume: recycler pod was deleted')],
    ],
    [
      'does not trust a scrubber of another client',
      { scrubber: pod({}) },
      ['endScrub', fail('Recycle failed: old recycler pod found, will retry later')],
    ],
    [
      'waits for the pods of its claim',
      { users: ['a/b', 'c/d'] },
      ['report VolumeFailedRecycle: Volume is used by pods: a/b,c/d'],
    ],
    ['does not wait for the pods of another claim of that name', { users: ['a/b'], claim: claim() }, ['scrub']],
  ])('%s', (_, rest, steps) => {
    expect(recycled(rest)).toEqual(steps)
  })

  it('refuses to recycle a volume that no scrubber supports', () => {
    expect(recycled({}, {})).toEqual([fail('No recycler plugin found for the volume!')])
  })
})

describe('a scrubber', () => {
  it.each([
    ['1Gi', HOST_PATH, 60],
    ['4Gi', HOST_PATH, 120],
    ['4Gi', NFS, 300],
    ['20Gi', NFS, 600],
  ])('sets a deadline for a volume of %s', (capacity, source, seconds) => {
    expect(scrubberOf(volume({ capacity, ...source })).spec?.activeDeadlineSeconds).toBe(seconds)
  })

  it('a scrubber is recognized by its namespace and name', () => {
    const { metadata } = scrubberOf(volume(NFS))
    expect(volumeOfScrubber({ namespace: metadata?.namespace ?? '', name: metadata?.name ?? '' })).toBe('pv-1')
    expect(volumeOfScrubber({ namespace: 'other', name: metadata?.name ?? '' })).toBeUndefined()
    expect(volumeOfScrubber({ namespace: 'default', name: 'app' })).toBeUndefined()
  })
})
