import { readFileSync } from 'node:fs'
import { code, table } from './markdown.ts'

interface PublicDriver {
  readonly name: string
  readonly sidecars: Readonly<Record<string, readonly string[]>>
  readonly remains: readonly string[]
  readonly note?: string
}

/** Returns the table of the public drivers in the tests: the sidecars that we replace, and the remaining sidecars. */
export function publicDriversTable(): string {
  const file = new URL('../../charts/tests/public-drivers.json', import.meta.url)
  const drivers: readonly PublicDriver[] = JSON.parse(readFileSync(file, 'utf8'))
  const rows = drivers.map(({ name, sidecars, remains, note }) => [
    name,
    Object.entries(sidecars).map(counted).join(', '),
    [...remains.map(code), ...(note === undefined ? [] : [note])].join('; '),
  ])
  return table(['driver', 'replaced', 'remains, and notes'], rows)
}

/** Returns the name of a sidecar, with the number of its containers if the driver has several of them. */
function counted([app, lines]: readonly [string, readonly string[]]): string {
  return lines.length === 1 ? app : `${app} (${lines.length} times)`
}
