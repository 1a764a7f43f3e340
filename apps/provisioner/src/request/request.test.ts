import { describe, expect, it } from '@jest/globals'
import type { ProvisionerClaim, RequestedVolume } from '../caches/claim.ts'
import {
  bytesOf,
  capabilitiesOf,
  createVolumeRequest,
  deprecations,
  driverParameters,
  fsTypeOf,
  volumeNameOf,
} from './request.ts'

const UID = '12345678-9abc-def0-1234-56789abcdef0'
const CLAIM = { key: 'ns/a', uid: UID, size: '1Gi' } as ProvisionerClaim

describe('volumeNameOf', () => {
  it.each<[string, string, number, string]>([
    [UID, 'pvc', -1, `pvc-${UID}`],
    [UID, 'vol', 10, 'vol-123456789a'],
    [UID, 'pvc', 32, 'pvc-123456789abcdef0123456789abcdef0'],
    [UID, 'pvc', 0, 'pvc-'],
  ])(
    'the UID %s with the prefix %s and the length %d gives the volume name %s',
    (uid, volumeNamePrefix, volumeNameUuidLength, name) => {
      expect(volumeNameOf(uid, { volumeNamePrefix, volumeNameUuidLength })).toBe(name)
    },
  )

  it.each([
    [UID, '', 'volume name prefix cannot be of length 0'],
    ['', 'pvc', 'corrupted PVC object, it is missing UID'],
  ])('`volumeNameOf` refuses the UID %j with the prefix %j', (uid, volumeNamePrefix, error) => {
    expect(() => volumeNameOf(uid, { volumeNamePrefix, volumeNameUuidLength: -1 })).toThrow(error)
  })
})

describe('the parameters', () => {
  it.each<[Readonly<Record<string, string>>, string]>([
    [{}, 'ext4'],
    [{ 'csi.storage.k8s.io/fstype': 'xfs' }, 'xfs'],
    [{ 'csi.storage.k8s.io/fstype': '' }, 'ext4'],
    [{ FSType: 'xfs' }, 'xfs'],
  ])('`fsTypeOf` finds the file system type in the parameters %j', (parameters, fsType) => {
    expect(fsTypeOf(parameters, 'ext4')).toBe(fsType)
  })

  it.each([
    ['FSType', 'fstype', 'fstype'],
    ['csiProvisionerSecretName', 'csiProvisionerSecretName', 'provisioner-secret-name'],
    ['csiNodeStageSecretNamespace', 'csiNodeStageSecretNamespace', 'node-stage-secret-namespace'],
  ])('the deprecated parameter %s causes a warning with the key that replaces it', (key, reportedKey, better) => {
    const warningStart = `"${reportedKey}" is deprecated and will be removed in a future release`
    const warning = `${warningStart}, please use "csi.storage.k8s.io/${better}" instead`
    const parameters = { a: 'b', 'csi.storage.k8s.io/fstype': 'ext4', [key]: 'x' }
    expect(deprecations(parameters)).toEqual([warning])
  })

  it('a request with parameters that name two file systems is refused', () => {
    expect(() => fsTypeOf({ fstype: 'a', FSTYPE: 'b' }, '')).toThrow('fstype specified in parameters with both')
  })

  it('reserved parameters do not reach the driver', () => {
    const driverKeys = {
      ...{ a: '1', csiProvisionerSecretName: '2', 'csi.storage.k8s.io': '3', 'csi.storage.k8s.iox': '4' },
      ...{ constructor: '5', 'a/b c': '6', empty: '' },
    }
    expect(driverParameters({ ...driverKeys, 'csi.storage.k8s.io/secret-name': 'x' })).toEqual(driverKeys)
    expect(() => driverParameters({ 'csi.storage.k8s.io/pvc/name': 'x' })).toThrow('found unknown parameter key')
  })
})

it.each<[string | undefined, bigint]>([
  [undefined, 0n],
  ['nonsense', 0n],
  ['1m', 1n],
  ['0.1', 1n],
  ['1500m', 2n],
  ['1Ei', 2n ** 60n],
  ['100Ei', 2n ** 63n - 1n],
  ['1e30', 2n ** 63n - 1n],
])('a claim of %j asks for %s bytes', (size, bytes) => {
  expect(bytesOf(size)).toBe(bytes)
})

it('a claim with an unknown access mode is refused', () => {
  const requestedVolume = { accessModes: ['ReadWriteOnce', 'New'] } as unknown as RequestedVolume
  expect(() =>
    capabilitiesOf(requestedVolume, { mountOptions: [] }, { fsType: '', singleNodeMultiWriter: false }),
  ).toThrow('New')
})

it('with --extra-create-metadata, the names of claim and volume replace parameters with equal keys', () => {
  const inputs = { claim: CLAIM, name: 'pv', capabilities: [], source: undefined, topology: undefined, secrets: {} }
  const request = createVolumeRequest({
    ...inputs,
    parameters: { 'csi.storage.k8s.io/pv/name': 'x', a: '1' },
    extraMetadata: true,
    mutableParameters: { m: '1' },
  })
  expect(request).toMatchObject({
    capacityRange: { requiredBytes: 2n ** 30n, limitBytes: 0n },
    parameters: {
      a: '1',
      'csi.storage.k8s.io/pvc/name': 'a',
      'csi.storage.k8s.io/pvc/namespace': 'ns',
      'csi.storage.k8s.io/pv/name': 'pv',
    },
    mutableParameters: { m: '1' },
  })
})
