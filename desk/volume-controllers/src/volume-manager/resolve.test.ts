import { describe, expect, it } from '@jest/globals'
import { boundPair, csiDriver, lookups, pod } from '../testing/objects.ts'
import { resolveVolumes } from './resolve.ts'

const bound = boundPair({ volume: { csi: { driver: 'csi.example.com', volumeHandle: 'vol-1' } } })
const claims = [bound.claim]
const volumes = [bound.volume]
const only = (stores: Parameters<typeof lookups>[0], change: Parameters<typeof pod>[0] = {}) =>
  resolveVolumes(pod(change), lookups(stores))[0]

describe('resolve', () => {
  it('the kubelet mounts a bound volume with the fields of its PersistentVolume and its claim', () => {
    expect(only({ claims, volumes })).toEqual({
      kind: 'mountable',
      source: {
        kind: 'csi',
        volumeName: 'kubernetes.io/csi/csi.example.com^vol-1',
        name: 'pv-1',
        csi: { driver: 'csi.example.com', volumeHandle: 'vol-1' },
        accessModes: ['ReadWriteOnce'],
        mountOptions: [],
        block: false,
        attach: true,
        claim: 'default/data',
      },
      mount: {
        podUid: 'uid-app',
        podKey: 'default/app',
        namespace: 'default',
        podName: 'app',
        serviceAccount: 'default',
        readOnly: false,
      },
      capacity: '1Gi',
    })
  })

  it('a volume is not attached if its driver needs no attach', () => {
    const drivers = [csiDriver({ attachRequired: false })]
    expect(only({ claims, volumes, drivers })).toMatchObject({ source: { attach: false } })
  })

  it('the kubelet ignores a volume that no container mounts', () => {
    const use = { mounts: new Set<string>(), devices: new Set<string>() }
    expect(only({ claims, volumes }, { use })).toEqual({ kind: 'unused' })
  })

  const going = { ...bound.claim, deleting: true, finalizers: [] }
  const mounts = { mounts: new Set(['data']), devices: new Set<string>() }
  const devices = { mounts: new Set<string>(), devices: new Set(['data']) }
  const refusals: [string, Parameters<typeof lookups>[0], Parameters<typeof pod>[0], unknown][] = [
    ['without a claim', {}, {}, { kind: 'unready', why: 'persistentvolumeclaim "data" not found' }],
    [
      'whose claim is not bound',
      { claims },
      {},
      { kind: 'unready', why: 'error processing PVC default/data: PVC is not bound' },
    ],
    [
      'whose claim is deleted and not protected',
      { claims: [going], volumes },
      {},
      { kind: 'refused', why: 'error processing PVC default/data: PVC is being deleted' },
    ],
    [
      'that was created for another pod',
      { claims, volumes },
      { volumes: [{ kind: 'claim', name: 'data', claim: 'data', readOnly: false, ephemeral: true }] },
      { kind: 'refused', why: 'PVC default/data was not created for pod default/app (pod is not owner)' },
    ],
    [
      'in block mode as a file system',
      { claims, volumes: [{ ...bound.volume, volumeMode: 'Block' }] },
      { use: mounts },
      { kind: 'refused', why: 'volume data has volumeMode Block, but is specified in volumeMounts' },
    ],
    [
      'in file system mode as a device',
      { claims, volumes },
      { use: devices },
      { kind: 'refused', why: 'volume data has volumeMode Filesystem, but is specified in volumeDevices' },
    ],
  ]
  it.each(refusals)('the kubelet does not mount a volume %s', (_, stores, change, expected) => {
    expect(only(stores, change)).toEqual(expected)
  })

  it('the kubelet mounts a volume while its deleted claim still has the protection finalizer', () => {
    expect(only({ claims: [{ ...bound.claim, deleting: true }], volumes })).toMatchObject({ kind: 'mountable' })
  })

  it('a volume that is not a CSI volume is mounted by the node itself', () => {
    expect(only({ claims, volumes: [{ ...bound.volume, csi: undefined }] })).toMatchObject({
      kind: 'mountable',
      source: { kind: 'local', volumeName: 'kubernetes.io/persistentVolume/uid-app-pv-1' },
    })
  })

  it("the handle of an inline CSI volume is a hash of the pod's UID and the volume name", () => {
    const source = { driver: 'csi.example.com', readOnly: true }
    expect(only({ drivers: [csiDriver()] }, { volumes: [{ kind: 'csi', name: 'data', source }] })).toMatchObject({
      kind: 'mountable',
      source: {
        kind: 'ephemeral',
        volumeName: 'kubernetes.io/csi/uid-app-data',
        // sha256 of the pod's uid and the volume's name.
        handle: expect.stringMatching(/^csi-[0-9a-f]{64}$/),
      },
      mount: { readOnly: true },
    })
  })

  it.each([
    ['without a CSIDriver object', [], '(no CSIDriver object)'],
    ['without inline support', [csiDriver({ lifecycleModes: ['Persistent'] })], '(only supports ["Persistent"])'],
  ])('the kubelet refuses an inline CSI volume of a driver %s', (_, drivers, why) => {
    const inlineVolume = { kind: 'csi' as const, name: 'data', source: { driver: 'csi.example.com' } }
    expect(only({ drivers }, { volumes: [inlineVolume] })).toEqual({
      kind: 'refused',
      why:
        'MountVolume.SetUp failed for volume "data" : kubernetes.io/csi: mounter.SetupAt failed to check volume ' +
        `lifecycle mode: volume mode "Ephemeral" not supported by driver csi.example.com ${why}`,
    })
  })
})
