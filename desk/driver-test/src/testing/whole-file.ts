import { renameSync, writeFileSync } from 'node:fs'

/** Writes a file completely or not at all, even if the process is killed. */
export function writeWhole(path: string, content: string | Uint8Array): void {
  writeFileSync(`${path}.new`, content)
  renameSync(`${path}.new`, path)
}
