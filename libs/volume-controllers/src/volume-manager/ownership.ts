import { chmodSync, lchownSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { FsGroup } from '../caches/pod.ts'
import type { DriverSource, PodMount } from './desired-state.ts'

const READ_WRITE = 0o660
/** Of a folder: may be entered, and what is created in it belongs to its group. */
const FOLDER = 0o2110
const PERMISSIONS = 0o7777

/** Gives a folder and all in it to a group, which may read and write it then. Links are not followed. */
export function giveToGroup(path: string, { gid, onRootMismatch }: FsGroup): void {
  if (onRootMismatch && belongsTo(path, gid)) return
  giveBelow(path, gid)
  // Last, for it says that all the rest was done.
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
  const { gid: is, mode } = lstatSync(path)
  const wanted = READ_WRITE | FOLDER
  return is === gid && (mode & wanted) === wanted
}

function giveOne(path: string, gid: number): void {
  const stats = lstatSync(path)
  lchownSync(path, stats.uid, gid)
  if (stats.isSymbolicLink()) return
  const mask = stats.isDirectory() ? READ_WRITE | FOLDER : READ_WRITE
  chmodSync(path, (stats.mode & PERMISSIONS) | mask)
}

/** Who sees to it that a volume belongs to the pod's group. */
export type GroupsBy = 'driver' | 'node' | 'none'

export interface FsGroupView {
  readonly source: DriverSource
  readonly pod: Pick<PodMount, 'fsGroup' | 'readOnly'>
  /** Of the CSIDriver. */
  readonly policy: string
  /** The driver's node service has VOLUME_MOUNT_GROUP. */
  readonly driverMayDo: boolean
}

const SINGLE_WRITER: readonly string[] = ['ReadWriteOnce', 'ReadWriteOncePod']

/** A driver that supports it gets the group with any policy; for others the node sets it where the policy allows. */
export function groupsBy({ source, pod, policy, driverMayDo }: FsGroupView): GroupsBy {
  if (pod.fsGroup === undefined || (source.is === 'csi' && source.block)) return 'none'
  if (driverMayDo) return 'driver'
  if (policy === 'None' || pod.readOnly) return 'none'
  if (policy === 'File') return 'node'
  const fsType = source.is === 'csi' ? source.csi.fsType : source.source.fsType
  if (!fsType) return 'none'
  // What a pod declares itself is always for one node.
  if (source.is === 'ephemeral') return 'node'
  return source.accessModes.some((mode) => SINGLE_WRITER.includes(mode)) ? 'node' : 'none'
}
