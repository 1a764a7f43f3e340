import { readFileSync } from 'node:fs'

declare const __OPERATIONS__: string | undefined

/** Returns the text of docs/operations.md. The build embeds it; a program that runs from source reads the file. */
export function operationsText(): string {
  if (typeof __OPERATIONS__ !== 'undefined') return __OPERATIONS__
  return readFileSync(new URL('../../../../docs/operations.md', import.meta.url), 'utf8')
}
