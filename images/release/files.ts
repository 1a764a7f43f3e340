import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const CHECKSUMS = 'SHA256SUMS'
/** What is said about known weaknesses; a release about which there is nothing to say has none. */
export const VEX = 'openvex.json'

export function sha256Of(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

/** Brings the files of all machines of the build together. What several of them make must be the same to the byte. */
export function collectFiles(folders: readonly string[], out: string): void {
  mkdirSync(out, { recursive: true })
  for (const folder of folders) {
    for (const name of readdirSync(folder).sort()) {
      const [from, to] = [join(folder, name), join(out, name)]
      if (existsSync(to) && sha256Of(to) !== sha256Of(from)) {
        throw new Error(`the machines of the build made a different ${name}`)
      }
      copyFileSync(from, to)
    }
  }
}

/** Lists the files of a folder in a new file there, as sha256sum reads it. */
export function writeChecksums(folder: string): string {
  const names = readdirSync(folder).filter((name) => !name.startsWith(CHECKSUMS))
  const lines = names.sort().map((name) => `${sha256Of(join(folder, name))}  ${name}\n`)
  writeFileSync(join(folder, CHECKSUMS), lines.join(''))
  return join(folder, CHECKSUMS)
}
