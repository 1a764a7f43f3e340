import { chmodSync, lchownSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { FsGroup } from '../caches/pod.ts'

const READ_WRITE = 0o660
/** Of a folder: may be entered, and what is made in it belongs to its group. */
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
