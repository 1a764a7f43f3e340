import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { FsGroup } from '../caches/pod.ts'
import { sha256 } from '../volume-names.ts'
import type { MountPoint } from './actual-state.ts'
import { clearWritten, writeAtomically } from './atomic-writer.ts'
import type { Payload } from './content.ts'
import { isOfDriver } from './desired-state.ts'
import { giveToGroup } from './ownership.ts'

/** The node's disk: it outlives the volume manager. */
export interface Disk {
  /** Before a call that may mount: creates the folder, and records what is about to be there. */
  begin(point: MountPoint): void
  /** After the call that took it back. */
  end(point: Pick<MountPoint, 'path'>): void
  /** What was begun and not yet taken back, as a kubelet finds it again after a restart. */
  records(): readonly MountPoint[]
  /** Writes files into a folder that was begun; readers see all of them change at once. */
  write(path: string, files: Payload, nowMs: number): void
  /** Gives what is mounted at a place to a group. */
  give(path: string, group: FsGroup): void
}

/** Keeps records and creates nothing: for a driver that mounts nothing either. */
export function memoryDisk(): Disk {
  const records = new Map<string, MountPoint>()
  return {
    begin: (point) => void records.set(point.path, point),
    end: ({ path }) => void records.delete(path),
    records: () => [...records.values()],
    write: () => undefined,
    give: () => undefined,
  }
}

const NOTES = 'mounts'

/**
 * A real directory. A staging path is created; of a target path only the parent, since the driver creates the rest. The notes
 * are one file a mount, beside all paths, so that no driver sees them.
 */
export function folderDisk(root: string): Disk {
  const notes = join(root, NOTES)
  mkdirSync(notes, { recursive: true })
  const fileOf = (path: string): string => join(notes, `${sha256(path)}.json`)
  return {
    begin(point) {
      const { source, path, podUid } = point
      const made = podUid === undefined || !isOfDriver(source)
      mkdirSync(made ? path : dirname(path), { recursive: true })
      writeFileSync(fileOf(path), JSON.stringify(point))
    },
    end({ path }) {
      // Only what was written here is taken away; what a driver has left is not looked into.
      const isOurs = existsSync(fileOf(path)) && read(fileOf(path)).source.is === 'content'
      if (isOurs) clearWritten(path)
      rmSync(fileOf(path), { force: true })
      // A driver may leave its mount point behind; one that is not empty holds data and stays.
      const left = statSync(path, { throwIfNoEntry: false })
      if (left?.isDirectory() && readdirSync(path).length === 0) rmdirSync(path)
    },
    write: writeAtomically,
    give: giveToGroup,
    records: () => readdirSync(notes).map((name) => read(join(notes, name))),
  }
}

function read(file: string): MountPoint {
  return JSON.parse(readFileSync(file, 'utf8'))
}
