import { describe, expect, it } from '@jest/globals'
import type { DriverSource } from './desired-state.ts'
import { groupsBy } from './ownership.ts'

const group = { gid: 2000, onRootMismatch: false }
const csi = (change: { fsType?: string; block?: boolean; accessModes?: string[] } = {}): DriverSource => ({
  kind: 'csi',
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
  kind: 'ephemeral',
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

describe('groupsBy', () => {
  it.each([
    ['returns none without a group', { pod: { fsGroup: undefined, readOnly: false } }, 'none'],
    ['returns none for a block device', { source: csi({ block: true }), driverMayDo: true }, 'none'],
    ['prefers a driver that sets groups', { driverMayDo: true, policy: 'None' }, 'driver'],
    ['returns none for the policy None', { policy: 'None' }, 'none'],
    ['returns none for a read-only pod', { pod: { fsGroup: group, readOnly: true }, policy: 'File' }, 'none'],
    ['returns node for the policy File', { policy: 'File', source: csi({ fsType: '', accessModes: [] }) }, 'node'],
    ['returns node for a file system with a single writer', {}, 'node'],
    ['returns node for a single pod', { source: csi({ accessModes: ['ReadWriteOncePod'] }) }, 'node'],
    ['returns none for many writers', { source: csi({ accessModes: ['ReadWriteMany'] }) }, 'none'],
    ['returns none for an unknown file system', { source: csi({ fsType: '' }) }, 'none'],
    ['returns node for an inline volume', { source: inline('ext4') }, 'node'],
    ['returns none for an inline volume without a file system', { source: inline('') }, 'none'],
  ])('`groupsBy` %s', (_, change, by) => {
    expect(groupsBy({ ...usual, ...change })).toBe(by)
  })
})
