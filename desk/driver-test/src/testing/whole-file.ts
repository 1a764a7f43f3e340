import { renameSync, writeFileSync } from 'node:fs'

/** Writes a file completely or not at all, even if the process is killed. */
export function writeWhole(path: string, text: string): void {
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}
