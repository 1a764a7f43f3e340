import { readFileSync } from 'node:fs'

declare const __OPERATIONS__: string | undefined

/** The text of docs/operations.md, which the build puts in its place. From source it is read from the file. */
export function operationsText(): string {
  if (typeof __OPERATIONS__ !== 'undefined') return __OPERATIONS__
  return readFileSync(new URL('../../../../docs/operations.md', import.meta.url), 'utf8')
}
