import { describe, expect, it } from '@jest/globals'
import type { DriverSource } from './desired-state.ts'
import { groupsBy } from './fs-group.ts'

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
    ['by nobody without a group', { pod: { fsGroup: undefined, readOnly: false } }, 'nobody'],
    ['by nobody as a block device', { source: csi({ block: true }), driverMayDo: true }, 'nobody'],
    ['by a driver that can', { driverMayDo: true, policy: 'None' }, 'driver'],
    ['by nobody under the policy None', { policy: 'None' }, 'nobody'],
    ['by nobody when it is only read', { pod: { fsGroup: group, readOnly: true }, policy: 'File' }, 'nobody'],
    ['by the node under the policy File', { policy: 'File', source: csi({ fsType: '', accessModes: [] }) }, 'node'],
    ['by the node with file system and a single writer', {}, 'node'],
    ['by the node for a single pod', { source: csi({ accessModes: ['ReadWriteOncePod'] }) }, 'node'],
    ['by nobody for many writers', { source: csi({ accessModes: ['ReadWriteMany'] }) }, 'nobody'],
    ['by nobody without a file system that is known', { source: csi({ fsType: '' }) }, 'nobody'],
    ['by the node when the pod declares it', { source: inline('ext4') }, 'node'],
    ['by nobody when the pod declares it without a file system', { source: inline('') }, 'nobody'],
  ])('%s', (_, change, by) => {
    expect(groupsBy({ ...usual, ...change })).toBe(by)
  })
})
