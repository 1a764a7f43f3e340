import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type Bundle, PROGRAMS, type Program, ROOT, readBundle } from './bundle.ts'
import { noticesOf } from './notices.ts'

export const ARCHITECTURES = ['x64', 'arm64'] as const
export type Architecture = (typeof ARCHITECTURES)[number]

/**
 * Writes `<name>-<version>-linux-<architecture>` for each program, with its licences and the checksums of all files. An
 * executable contains a copy of Node.js, so it is for the architecture of this machine.
 */
export function makeExecutables(folder: string, version: string): readonly string[] {
  mkdirSync(folder, { recursive: true })
  const files = PROGRAMS.flatMap((name) => {
    const bundle = readBundle(name)
    const executable = executableName(name, version, process.arch as Architecture)
    makeExecutable(bundle, join(folder, executable))
    const notices = `${name}-${version}-THIRD-PARTY-NOTICES.txt`
    writeFileSync(join(folder, notices), noticesOf(bundle.packages))
    return [executable, notices]
  })
  writeFileSync(join(folder, 'SHA256SUMS'), files.map((file) => checksum(folder, file)).join(''))
  return [...files, 'SHA256SUMS']
}

export function executableName(name: Program, version: string, architecture: Architecture): string {
  return `${name}-${version}-linux-${architecture}`
}

/** Writes the executable of a program. If `npm run build` has already written one, it is copied. */
function makeExecutable({ name, file }: Bundle, output: string): void {
  const built = join(dirname(file), name)
  if (existsSync(built)) copyFileSync(built, output)
  else packScript(file, resolve(output))
  chmodSync(output, 0o755)
}

function packScript(file: string, output: string): void {
  const work = mkdtempSync(join(tmpdir(), 'executable-'))
  try {
    const text = readFileSync(file, 'utf8')
    // The first line with `#!` is removed, because Node.js does not skip it in an executable.
    writeFileSync(join(work, 'main.cjs'), text.replace(/^#!.*\n/, ''))
    const args = [join(ROOT, 'tools/executable.mjs'), 'main.cjs', output]
    execFileSync(process.execPath, args, { cwd: work, stdio: ['ignore', 'ignore', 'inherit'] })
  } finally {
    rmSync(work, { recursive: true })
  }
}

function checksum(folder: string, file: string): string {
  const content = readFileSync(join(folder, file))
  return `${createHash('sha256').update(content).digest('hex')}  ${file}\n`
}
