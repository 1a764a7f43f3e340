import { describe, expect, it } from '@jest/globals'
import { boundPair, claim, csiDriver, lookups, pod, refTo, volume } from '../testing/objects.ts'
import { mayAttachTwice, resolveVolumes, wantsVolumes } from './resolve.ts'

const bound = boundPair({ volume: { csi: { driver: 'csi.example.com', volumeHandle: 'vol-1' } } })
const volumeName = 'kubernetes.io/csi/csi.example.com^vol-1'
const attachable = { is: 'attachable', spec: { volumeName, pvName: 'pv-1', multiAttach: false } }
const resolved = (stores: Parameters<typeof lookups>[0], volumes = pod().volumes) =>
  resolveVolumes(pod({ volumes }), lookups(stores))

describe('a volume of a pod', () => {
  const claims = [bound.claim]
  const volumes = [bound.volume]
  const rows: [string, Parameters<typeof lookups>[0], unknown][] = [
    ['is attached when its claim is bound from both sides', { claims, volumes }, attachable],
    ['is attached when the driver asks for that', { claims, volumes, drivers: [csiDriver()] }, attachable],
    [
      'is not attached when its driver needs none',
      { claims, volumes, drivers: [csiDriver({ attachRequired: false })] },
      { is: 'notAttachable', volumeName },
    ],
    ['is not known without its claim', { volumes }, { is: 'unknown' }],
    ['is not known without its volume', { claims }, { is: 'unknown' }],
    [
      'is not known while its claim is pending',
      { claims: [claim({ volumeName: 'pv-1' })], volumes },
      { is: 'unknown' },
    ],
    [
      "is not known while the volume is another claim's of that name",
      { claims, volumes: [volume({ claimRef: { ...refTo(bound.claim), uid: 'before' }, phase: 'Bound' })] },
      { is: 'unknown' },
    ],
    [
      'is not attached when it is not CSI',
      { claims, volumes: [{ ...bound.volume, csi: undefined }] },
      { is: 'notAttachable', volumeName: undefined },
    ],
  ]
  it.each(rows)('%s', (_, stores, expected) => {
    expect(resolved(stores)).toEqual([expected])
  })

  it('does not attach inline CSI volumes or local volumes', () => {
    const own = [
      { is: 'csi' as const, name: 'inline', source: { driver: 'csi.example.com' } },
      { is: 'local' as const, name: 'scratch', plugin: 'emptyDir' },
    ]
    expect(resolved({}, own)).toEqual([
      { is: 'notAttachable', volumeName: undefined },
      { is: 'notAttachable', volumeName: undefined },
    ])
  })

  it('resolves an ephemeral volume only if the pod owns the claim', () => {
    const own = [{ is: 'claim' as const, name: 'own', claim: 'data', readOnly: false, ephemeral: true }]
    expect(resolved({ claims, volumes }, own)).toEqual([{ is: 'unknown' }])
    const made = { ...bound.claim, ownerUid: pod().uid }
    expect(resolved({ claims: [made], volumes }, own)).toEqual([attachable])
  })
})

describe('a pod wants its volumes', () => {
  it.each([
    ['when it is placed', {}, true],
    ['not before', { nodeName: '' }, false],
    ['not when it has ended', { phase: 'Failed' as const }, false],
  ])('%s', (_, change, wants) => {
    expect(wantsVolumes(pod(change))).toBe(wants)
  })
})

describe('several nodes may have a volume', () => {
  it.each([
    [['ReadWriteOnce'], false],
    [['ReadWriteOncePod'], false],
    [['ReadWriteOnce', 'ReadWriteMany'], true],
    [['ReadOnlyMany'], true],
    [[], true],
  ])('for the access modes %j, the answer is %s', (accessModes, may) => {
    expect(mayAttachTwice({ accessModes })).toBe(may)
  })
})
