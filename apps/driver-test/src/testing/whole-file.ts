import { renameSync, writeFileSync } from 'node:fs'

/** A process that is killed meanwhile leaves the file as it was. */
export function writeWhole(path: string, text: string): void {
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}
