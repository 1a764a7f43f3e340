import { VolumeCapability_AccessMode_Mode as Mode } from '@csi-sidecars/csi-proto'
import { expect, test } from '@jest/globals'
import { AccessModeError, accessModeOf, volumeCapabilityOf } from './volume-capability.ts'

const [RWO, ROX, RWX, RWOP] = ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod']

test.each([
  [[RWX], Mode.MULTI_NODE_MULTI_WRITER, Mode.MULTI_NODE_MULTI_WRITER],
  [[RWO, ROX, RWX], Mode.MULTI_NODE_MULTI_WRITER, Mode.MULTI_NODE_MULTI_WRITER],
  [[ROX], Mode.MULTI_NODE_READER_ONLY, Mode.MULTI_NODE_READER_ONLY],
  [[RWO], Mode.SINGLE_NODE_WRITER, Mode.SINGLE_NODE_MULTI_WRITER],
  [[RWO, RWO], Mode.SINGLE_NODE_WRITER, Mode.SINGLE_NODE_MULTI_WRITER],
  [[RWOP], Mode.SINGLE_NODE_WRITER, Mode.SINGLE_NODE_SINGLE_WRITER],
])('access modes %p become the CSI mode %d, or %d with SINGLE_NODE_MULTI_WRITER', (modes, without, withCapability) => {
  expect(accessModeOf(modes, false)).toBe(without)
  expect(accessModeOf(modes, true)).toBe(withCapability)
})

const POD = 'Kubernetes does not support use of ReadWriteOncePod with other access modes on the same PersistentVolume'
test.each([
  [[ROX, RWO], 'CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume'],
  [[RWOP, RWO], POD],
  [[RWOP, RWX], POD],
  [[], 'unsupported AccessMode combination: []'],
  [undefined, 'unsupported AccessMode combination: []'],
  [['A', 'B'], 'unsupported AccessMode combination: [A B]'],
])('the access modes %p have no CSI mode', (modes, message) => {
  for (const singleNodeMultiWriter of [false, true]) {
    expect(() => accessModeOf(modes, singleNodeMultiWriter)).toThrow(new AccessModeError(message))
  }
})

test('the capability of a mounted volume contains its file system type and mount options', () => {
  const use = { accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem', fsType: 'xfs', mountOptions: ['ro', 'a'] }
  expect(volumeCapabilityOf(use, false)).toEqual({
    accessType: { $case: 'mount', value: { fsType: 'xfs', mountFlags: ['ro', 'a'], volumeMountGroup: '' } },
    accessMode: { mode: Mode.SINGLE_NODE_WRITER },
  })
})

test('the capability of a volume without details leaves the file system type to the driver', () => {
  expect(volumeCapabilityOf({ accessModes: ['ReadWriteMany'] }, false)).toEqual({
    accessType: { $case: 'mount', value: { fsType: '', mountFlags: [], volumeMountGroup: '' } },
    accessMode: { mode: Mode.MULTI_NODE_MULTI_WRITER },
  })
})

test('the capability of a block volume contains no file system type and no mount options', () => {
  const use = { accessModes: ['ReadWriteOnce'], volumeMode: 'Block', fsType: 'xfs', mountOptions: ['ro'] }
  expect(volumeCapabilityOf(use, true)).toEqual({
    accessType: { $case: 'block', value: {} },
    accessMode: { mode: Mode.SINGLE_NODE_MULTI_WRITER },
  })
})
