import { chmodSync, lchownSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { FsGroup } from '../caches/pod.ts'
import type { DriverSource, PodMount } from './desired-state.ts'

/** The component that gives a volume to the Unix group of the pod. */
export type GroupsBy = 'driver' | 'node' | 'none'

/** The facts that decide who gives a volume to the group of its pod. */
export interface FsGroupView {
  readonly source: DriverSource
  readonly pod: Pick<PodMount, 'fsGroup' | 'readOnly'>
  /** The `fsGroupPolicy` of the CSIDriver. */
  readonly policy: string
  /** True if the node service of the driver has VOLUME_MOUNT_GROUP. */
  readonly driverMayDo: boolean
}

const READ_WRITE = 0o660
/** The mode bits of a folder: owner and group may enter it, and new files belong to its group. */
const FOLDER = 0o2110
const PERMISSIONS = 0o7777

/** Gives a folder and its content to a Unix group, which may then read and write them. Does not follow links. */
export function giveToGroup(path: string, { gid, onRootMismatch }: FsGroup): void {
  if (onRootMismatch && belongsTo(path, gid)) return
  giveBelow(path, gid)
  // The group of the folder is changed last, because it shows that all files inside are already changed.
  giveOne(path, gid)
}

function giveBelow(path: string, gid: number): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const below = join(path, entry.name)
    if (entry.isDirectory()) giveBelow(below, gid)
    giveOne(below, gid)
  }
}

function belongsTo(path: string, gid: number): boolean {
  const { gid: owner, mode } = lstatSync(path)
  const expectedBits = READ_WRITE | FOLDER
  return owner === gid && (mode & expectedBits) === expectedBits
}

function giveOne(path: string, gid: number): void {
  const stats = lstatSync(path)
  lchownSync(path, stats.uid, gid)
  if (stats.isSymbolicLink()) return
  const mask = stats.isDirectory() ? READ_WRITE | FOLDER : READ_WRITE
  chmodSync(path, (stats.mode & PERMISSIONS) | mask)
}

const SINGLE_WRITER: readonly string[] = ['ReadWriteOnce', 'ReadWriteOncePod']

/** Returns the component that sets the Unix group: the driver if it can, the node if the policy allows it, or none. */
export function groupsBy({ source, pod, policy, driverMayDo }: FsGroupView): GroupsBy {
  if (pod.fsGroup === undefined || (source.kind === 'csi' && source.block)) return 'none'
  if (driverMayDo) return 'driver'
  if (policy === 'None' || pod.readOnly) return 'none'
  if (policy === 'File') return 'node'
  const fsType = source.kind === 'csi' ? source.csi.fsType : source.source.fsType
  if (!fsType) return 'none'
  // An inline volume is never shared between nodes, so the node may change its group.
  if (source.kind === 'ephemeral') return 'node'
  return source.accessModes.some((mode) => SINGLE_WRITER.includes(mode)) ? 'node' : 'none'
}
