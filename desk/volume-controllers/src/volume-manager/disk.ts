import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { FsGroup } from '../caches/pod.ts'
import { sha256 } from '../volume-names.ts'
import type { MountPoint } from './actual-state.ts'
import { isOfDriver } from './desired-state.ts'
import { giveToGroup } from './ownership.ts'

/** The disk of a node. Its records survive a restart of the volume manager. */
export interface Disk {
  /** Creates the folder of a mount and records the mount, before a call that may mount the volume. */
  begin(point: MountPoint): void
  /** Removes the record, after an unmount or a failed mount. */
  end(point: Pick<MountPoint, 'path'>): void
  /** Returns the mounts that have begun and not ended, including mounts from before a restart. */
  records(): readonly MountPoint[]
  /** Gives the files below a path to a Unix group. */
  give(path: string, group: FsGroup): void
}

/** Returns a disk that only keeps records, for a driver that mounts nothing. */
export function memoryDisk(): Disk {
  const records = new Map<string, MountPoint>()
  return {
    begin: (point) => void records.set(point.path, point),
    end: ({ path }) => void records.delete(path),
    records: () => [...records.values()],
    give: () => undefined,
  }
}

const NOTES = 'mounts'

/**
 * Returns a disk in a folder. It creates only the parent of a driver's target path, because the driver creates the
 * path. A separate folder hides the records from drivers.
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
      rmSync(fileOf(path), { force: true })
      // A driver may leave its mount point behind. A mount point that contains data stays.
      const left = statSync(path, { throwIfNoEntry: false })
      if (left?.isDirectory() && readdirSync(path).length === 0) rmdirSync(path)
    },
    give: giveToGroup,
    records: () => readdirSync(notes).map((name) => JSON.parse(readFileSync(join(notes, name), 'utf8')) as MountPoint),
  }
}
