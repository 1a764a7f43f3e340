import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import type { Payload } from './content.ts'

const DATA = '..data'
const NEW_DATA = '..data_tmp'
const PERMISSIONS = 0o7777

/**
 * Writes files so that readers see either all old files or all new files. The files are in a new folder, to which the
 * link `..data` switches; unchanged files are not written.
 */
export function writeAtomically(target: string, payload: Payload, nowMs: number): void {
  mkdirSync(target, { recursive: true })
  const before = currentFolder(target)
  if (before === undefined || !isSame(join(target, before), payload)) {
    const folder = writeFolder(target, payload, nowMs)
    rmSync(join(target, NEW_DATA), { force: true })
    symlinkSync(folder, join(target, NEW_DATA))
    renameSync(join(target, NEW_DATA), join(target, DATA))
    if (before !== undefined) rmSync(join(target, before), { recursive: true, force: true })
  }
  link(target, new Set([...payload.keys()].map(firstPart)))
}

/** Removes the written files and links, and nothing else. */
export function clearWritten(target: string): void {
  if (!existsSync(target)) return
  link(target, new Set())
  const folder = currentFolder(target)
  rmSync(join(target, DATA), { force: true })
  if (folder !== undefined) rmSync(join(target, folder), { recursive: true, force: true })
  if (readdirSync(target).length === 0) rmdirSync(target)
}

/** The folder that `..data` points to; undefined while there is none. */
function currentFolder(target: string): string | undefined {
  const path = join(target, DATA)
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  return basename(readlinkSync(path))
}

function writeFolder(target: string, payload: Payload, nowMs: number): string {
  const stamp = new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-T:]/g, '_')
  const folder = mkdtempSync(join(target, `..${stamp}.`))
  // All users may enter the folder. The modes of the files decide who may read them.
  chmodSync(folder, 0o755)
  for (const [path, { data, mode }] of payload) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true, mode: 0o755 })
    writeFileSync(file, data)
    // The umask of the process has reduced the mode of the new file.
    chmodSync(file, mode)
  }
  return basename(folder)
}

function isSame(folder: string, payload: Payload): boolean {
  const files = filesBelow(folder)
  if (files.length !== payload.size) return false
  return files.every((path) => {
    const wanted = payload.get(path)
    if (wanted === undefined || (statSync(join(folder, path)).mode & PERMISSIONS) !== wanted.mode) return false
    return readFileSync(join(folder, path)).equals(wanted.data)
  })
}

function filesBelow(folder: string): readonly string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name)))
}

/** Creates a link for each top-level file or folder, and removes the links of other names. */
function link(target: string, names: ReadonlySet<string>): void {
  for (const entry of readdirSync(target, { withFileTypes: true })) {
    const ours = entry.isSymbolicLink() && !entry.name.startsWith('..')
    if (ours && !names.has(entry.name)) unlinkSync(join(target, entry.name))
  }
  for (const name of names) {
    const path = join(target, name)
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) symlinkSync(join(DATA, name), path)
  }
}

function firstPart(path: string): string {
  return path.split('/')[0] ?? path
}
