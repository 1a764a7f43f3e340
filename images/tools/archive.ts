import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const MOST_BYTES = 1024 * 1024 * 1024

export interface TarOptions {
  /** Seconds since 1970, of every file. */
  readonly time: number
  /** What the archive holds, from the folder; without it all of it. */
  readonly names?: readonly string[]
}

/** The files of a folder, of root and as readable as they must be: the same content gives the same bytes. */
export function tarOf(folder: string, { time, names = readdirSync(folder).sort() }: TarOptions): Buffer {
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX']
  const args = ['--format=gnu', '--sort=name', `--mtime=@${time}`, ...owner, '-cf', '-', '--', ...names]
  return execFileSync('tar', args, { cwd: folder, maxBuffer: MOST_BYTES })
}

/** By the zlib of this Node.js, which a release pins; without a time. */
export const gzipOf = (content: Buffer): Buffer => gzipSync(content, { level: 9 })
