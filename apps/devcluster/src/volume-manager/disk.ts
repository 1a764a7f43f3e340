import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sha256 } from '../volume-names.ts'
import type { MountSource } from './desired-state.ts'

/** One mount that was begun and not yet taken back, as a kubelet finds it again after a restart. */
export type MountRecord =
  | { readonly is: 'staged'; readonly source: MountSource; readonly path: string }
  | {
      readonly is: 'published'
      readonly source: MountSource
      readonly path: string
      readonly podUid: string
      readonly podKey: string
    }

/** The node's disk: it outlives the volume manager. */
export interface Disk {
  /** Before a call that may mount: makes the place, and notes what is about to be there. */
  begin(record: MountRecord): void
  /** After the call that took it back. */
  end(record: Pick<MountRecord, 'path'>): void
  records(): readonly MountRecord[]
}

/** Keeps account and makes nothing: for a driver that mounts nothing either. */
export function memoryDisk(): Disk {
  const records = new Map<string, MountRecord>()
  return {
    begin: (record) => void records.set(record.path, record),
    end: ({ path }) => void records.delete(path),
    records: () => [...records.values()],
  }
}

const NOTES = 'mounts'

/**
 * A real directory. A staging path is made; of a target path only the parent, since the driver makes the rest. The notes
 * are one file a mount, beside all paths, so that no driver sees them.
 */
export function folderDisk(root: string): Disk {
  const notes = join(root, NOTES)
  mkdirSync(notes, { recursive: true })
  const fileOf = (path: string): string => join(notes, `${sha256(path)}.json`)
  return {
    begin(record) {
      const made = record.is === 'staged' || record.source.is === 'local'
      mkdirSync(made ? record.path : dirname(record.path), { recursive: true })
      writeFileSync(fileOf(record.path), JSON.stringify(record))
    },
    end({ path }) {
      rmSync(fileOf(path), { force: true })
      // A driver may leave its mount point behind; one that is not empty holds somebody's data and stays.
      const left = statSync(path, { throwIfNoEntry: false })
      if (left?.isDirectory() && readdirSync(path).length === 0) rmdirSync(path)
    },
    records: () => readdirSync(notes).map((name): MountRecord => JSON.parse(readFileSync(join(notes, name), 'utf8'))),
  }
}
