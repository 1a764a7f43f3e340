import { type Flag, type GateTable, STANDARD_FLAGS } from '@csi-sidecars/sidecar'
import { SIDECARS, SIDECARS_ON_REQUEST } from '@csi-sidecars/sidecars'
import { code, table } from './markdown.ts'
import { readText } from './source-texts.ts'

/** The flags in the `--help` of the Go sidecars. A test compares them with the Go sidecars if these are built. */
export const ORIGINAL_FLAGS: Readonly<Record<string, readonly string[]>> = JSON.parse(
  readText('testing/e2e/originals/flags.json'),
)

interface SidecarFlags {
  readonly flags: readonly Flag[]
  readonly gates: GateTable
}

/** Returns the table of flags and values that the Go sidecars refuse. They must be removed before a rollback. */
export function rollbackTable(): string {
  const all = unknownNames(STANDARD_FLAGS, Object.values(ORIGINAL_FLAGS).flat())
  const rows = [...SIDECARS, ...SIDECARS_ON_REQUEST].flatMap(({ app, value }) => rowsOf(app, value))
  return table(['of', 'remove'], [['all', listOf(all)], ...rows])
}

function rowsOf(app: string, { flags, gates }: SidecarFlags): readonly (readonly string[])[] {
  const original = ORIGINAL_FLAGS[app]
  if (original === undefined) throw new Error(`the flags of the Go sidecar ${app} are not known`)
  const permanent = Object.keys(gates.permanent).map(code)
  const unknown = unknownNames(flags, original)
  return [
    ...(unknown.length === 0 ? [] : [[app, listOf(unknown)]]),
    ...(permanent.length === 0 ? [] : [[`${app}, in \`--feature-gates\``, permanent.join(', ')]]),
  ]
}

/** Returns the names and aliases of flags that are not in `knownNames`. */
function unknownNames(flags: readonly Flag[], knownNames: readonly string[]): readonly string[] {
  return flags.flatMap(({ name, aliases = [] }) => [name, ...aliases]).filter((name) => !knownNames.includes(name))
}

function listOf(names: readonly string[]): string {
  return names.map((name) => code(`--${name}`)).join(', ')
}
