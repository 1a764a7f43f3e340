import { readFileSync } from 'node:fs'

declare const __VERSION__: string | undefined

/** Returns the version, such as `v1.2.3`. The build embeds it; a program that runs from source reads package.json. */
export function programVersion(): string {
  if (typeof __VERSION__ !== 'undefined') return __VERSION__
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return `v${version}`
}
