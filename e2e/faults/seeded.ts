import { createHash } from 'node:crypto'
import { copyFileSync, existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { byApp } from '@csi-sidecars/sidecars'
import { temporaryFolder } from '../harness/processes.ts'
import type { Executables } from '../harness/subject.ts'
import { executablesOf } from '../tools/binaries.ts'
import type { Chance } from './case.ts'

/** The built executables; a build that is made meanwhile does not disturb the run. */
export function copied(root: string): Executables {
  const folder = temporaryFolder('executables')
  const built = executablesOf(root, 'ours')
  const copy = (from: string): string => {
    if (!existsSync(from)) throw new Error(`${from} is missing: npm run build`)
    const to = join(folder, basename(from))
    copyFileSync(from, to)
    return to
  }
  return { ...byApp((app) => copy(built[app])), both: copy(built.both) }
}

export function chanceOf(seed: number, title: string): Chance {
  let drawn = 0
  return {
    upTo: (most) => {
      drawn += 1
      return 1 + (numberOf(seed, `${title} ${drawn}`) % most)
    },
  }
}

/** The same for the same seed and text. */
export function numberOf(seed: number, text: string): number {
  return createHash('sha256').update(`${seed} ${text}`).digest().readUInt32BE(0)
}
