import { describe, expect, it } from '@jest/globals'
import { boundPair, claim, csiDriver, lookups, pod, refTo, volume } from '../testing/objects.ts'
import { mayAttachTwice, resolveVolumes, wantsVolumes } from './resolve.ts'

const bound = boundPair({ volume: { csi: { driver: 'csi.example.com', volumeHandle: 'vol-1' } } })
const EBS = { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-7' }
const volumeName = 'kubernetes.io/csi/csi.example.com^vol-1'
const attachable = { kind: 'attachable', spec: { volumeName, pvName: 'pv-1', multiAttach: false } }
const resolvedVolumes = (stores: Parameters<typeof lookups>[0], volumes = pod().volumes) =>
  resolveVolumes(pod({ volumes }), lookups(stores))

describe('resolveVolumes', () => {
  const claims = [bound.claim]
  const volumes = [bound.volume]
  const rows: [string, Parameters<typeof lookups>[0], unknown][] = [
    ['attaches a volume if the claim and the volume name each other', { claims, volumes }, attachable],
    ['attaches a volume if the driver requires it', { claims, volumes, drivers: [csiDriver()] }, attachable],
    [
      'does not attach a volume if the driver needs no attach',
      { claims, volumes, drivers: [csiDriver({ attachRequired: false })] },
      { kind: 'notAttachable', volumeName },
    ],
    ['returns unknown if the claim is missing', { volumes }, { kind: 'unknown' }],
    ['returns unknown if the volume is missing', { claims }, { kind: 'unknown' }],
    [
      'returns unknown while the claim is pending',
      { claims: [claim({ volumeName: 'pv-1' })], volumes },
      { kind: 'unknown' },
    ],
    [
      'returns unknown if the volume belongs to an older claim of that name',
      { claims, volumes: [volume({ claimRef: { ...refTo(bound.claim), uid: 'before' }, phase: 'Bound' })] },
      { kind: 'unknown' },
    ],
    [
      'does not attach a volume without a CSI driver',
      { claims, volumes: [{ ...bound.volume, csi: undefined }] },
      { kind: 'notAttachable', volumeName: undefined },
    ],
    [
      'attaches a volume of a migrated in-tree plugin by the CSI driver of that plugin',
      {
        claims,
        volumes: [{ ...bound.volume, csi: undefined, migrated: { csi: EBS, accessModes: ['ReadWriteOnce'] } }],
      },
      { ...attachable, spec: { ...attachable.spec, volumeName: 'kubernetes.io/csi/ebs.csi.aws.com^vol-7' } },
    ],
  ]
  it.each(rows)('the attach/detach controller %s', (_, stores, expected) => {
    expect(resolvedVolumes(stores)).toEqual([expected])
  })

  it('inline CSI volumes and local volumes of a pod are not attached', () => {
    const notAttached = [
      { kind: 'csi' as const, name: 'inline', source: { driver: 'csi.example.com' } },
      { kind: 'local' as const, name: 'scratch', plugin: 'emptyDir' },
    ]
    expect(resolvedVolumes({}, notAttached)).toEqual([
      { kind: 'notAttachable', volumeName: undefined },
      { kind: 'notAttachable', volumeName: undefined },
    ])
  })

  it('an ephemeral volume is attached only if the pod owns its claim', () => {
    const ephemeral = [{ kind: 'claim' as const, name: 'own', claim: 'data', readOnly: false, ephemeral: true }]
    expect(resolvedVolumes({ claims, volumes }, ephemeral)).toEqual([{ kind: 'unknown' }])
    const made = { ...bound.claim, ownerUid: pod().uid }
    expect(resolvedVolumes({ claims: [made], volumes }, ephemeral)).toEqual([attachable])
  })
})

describe('wantsVolumes', () => {
  it.each([
    ['returns true for a scheduled pod', {}, true],
    ['returns false for an unscheduled pod', { nodeName: '' }, false],
    ['returns false for a pod that has ended', { phase: 'Failed' as const }, false],
  ])('`wantsVolumes` %s', (_, change, wants) => {
    expect(wantsVolumes(pod(change))).toBe(wants)
  })
})

describe('mayAttachTwice', () => {
  it.each([
    [['ReadWriteOnce'], false],
    [['ReadWriteOncePod'], false],
    [['ReadWriteOnce', 'ReadWriteMany'], true],
    [['ReadOnlyMany'], true],
    [[], true],
  ])('a volume with the access modes %j may be attached to two nodes: %s', (accessModes, may) => {
    expect(mayAttachTwice({ accessModes, migrated: undefined })).toBe(may)
  })

  it('the access modes of a translated volume decide whether it may be attached to two nodes', () => {
    const csi = { driver: 'csi.example.com', volumeHandle: 'vol-1' }
    const migrated = { csi, accessModes: ['ReadOnlyMany'] }
    expect(mayAttachTwice({ accessModes: ['ReadWriteOnce'], migrated })).toBe(true)
  })
})
