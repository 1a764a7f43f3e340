import { readFileSync } from 'node:fs'

declare const __VERSION__: string | undefined

/** `v1.2.3`: of the release, which the build puts in its place. From source it is that of the package. */
export function programVersion(): string {
  if (typeof __VERSION__ !== 'undefined') return __VERSION__
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return `v${version}`
}
