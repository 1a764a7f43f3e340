import { describe, expect, it } from '@jest/globals'
import type { DriverSource } from './desired-state.ts'
import { groupsBy } from './ownership.ts'

const group = { gid: 2000, onRootMismatch: false }
const csi = (change: { fsType?: string; block?: boolean; accessModes?: string[] } = {}): DriverSource => ({
  is: 'csi',
  volumeName: 'v',
  name: 'pv-1',
  csi: { driver: 'd', volumeHandle: 'h', fsType: change.fsType ?? 'ext4' },
  accessModes: change.accessModes ?? ['ReadWriteOnce'],
  mountOptions: [],
  block: change.block ?? false,
  attach: true,
  claim: 'default/data',
})
const inline = (fsType: string): DriverSource => ({
  is: 'ephemeral',
  volumeName: 'v',
  name: 'own',
  handle: 'h',
  source: { driver: 'd', fsType },
})
const usual = {
  source: csi(),
  pod: { fsGroup: group, readOnly: false } as const,
  policy: 'ReadWriteOnceWithFSType',
  driverMayDo: false,
}

describe("a volume is given to the pod's group", () => {
  it.each([
    ['not without a group', { pod: { fsGroup: undefined, readOnly: false } }, 'none'],
    ['not as a block device', { source: csi({ block: true }), driverMayDo: true }, 'none'],
    ['by a driver that can', { driverMayDo: true, policy: 'None' }, 'driver'],
    ['not under the policy None', { policy: 'None' }, 'none'],
    ['not when it is only read', { pod: { fsGroup: group, readOnly: true }, policy: 'File' }, 'none'],
    ['by the node under the policy File', { policy: 'File', source: csi({ fsType: '', accessModes: [] }) }, 'node'],
    ['by the node with file system and a single writer', {}, 'node'],
    ['by the node for a single pod', { source: csi({ accessModes: ['ReadWriteOncePod'] }) }, 'node'],
    ['not for many writers', { source: csi({ accessModes: ['ReadWriteMany'] }) }, 'none'],
    ['not without a known file system', { source: csi({ fsType: '' }) }, 'none'],
    ['by the node when the pod declares it', { source: inline('ext4') }, 'node'],
    ['not when the pod declares it without a file system', { source: inline('') }, 'none'],
  ])('%s', (_, change, by) => {
    expect(groupsBy({ ...usual, ...change })).toBe(by)
  })
})
