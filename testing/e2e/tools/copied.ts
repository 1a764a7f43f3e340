import { copyFileSync, existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { temporaryFolder } from '../harness/process/processes.ts'
import type { Binaries, Executables } from '../harness/subject.ts'
import { bySubject } from '../harness/subject.ts'
import { executablesOf } from './binaries.ts'

/** Returns copies of the built executables, so that a concurrent build does not disturb the run. */
export function copied(root: string, binaries: Binaries = 'ours'): Executables {
  const folder = temporaryFolder('executables')
  const built = executablesOf(root, binaries)
  const copy = (from: string): string => {
    if (!existsSync(from)) throw new Error(`${from} is missing: npm run build`)
    const to = join(folder, basename(from))
    copyFileSync(from, to)
    return to
  }
  return { ...bySubject((app) => copy(built[app])), both: copy(built.both) }
}
