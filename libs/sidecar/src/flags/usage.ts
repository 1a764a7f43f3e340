import { FLAG_TYPES, type FlagType } from './flag-types.ts'
import type { Flag, FlagTable } from './go-flags.ts'

/** The parts of a help text that differ by program. */
export interface UsageOptions {
  /** Further lines of the help by flag, such as the gates of the app. */
  readonly notes?: Readonly<Record<string, string>>
  /** The dashes before the name of a flag. Default: one. */
  readonly dashes?: '-' | '--'
}

/** Returns the usage text in the layout of Go's `flag` package, with the flags in byte order. */
export function usageText(program: string, table: FlagTable, { notes = {}, dashes = '-' }: UsageOptions = {}): string {
  const helpOf = ({ name, help }: Flag): string => (Object.hasOwn(notes, name) ? `${help}\n${notes[name]}` : help)
  const entries = table.flatMap((flag) => [
    { name: flag.name, text: entryText(`${dashes}${flag.name}`, helpOf(flag), flag) },
    ...(flag.aliases ?? []).map((name) => ({
      name,
      text: entryText(`${dashes}${name}`, `Same as --${flag.name}.`, flag),
    })),
  ])
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  return `Usage of ${program}:\n${entries.map(({ text }) => text).join('')}`
}

/** Returns the last line of the help, which lists the Go sidecars that the program replaces. */
export const replacesText = (originals: readonly string[]): string =>
  `\nTakes the place of ${originals.join(', ').replace(/, (?=[^,]*$)/, ' and ')}.\n`

function entryText(spelling: string, help: string, flag: Flag): string {
  // The default value of a flag has the type of the flag, so that the cast is safe.
  const type = FLAG_TYPES[flag.type] as FlagType<unknown>
  const quoted = /`([^`]*)`/.exec(help)
  const placeholder = quoted?.[1] ?? type.placeholder
  const text = quoted === null ? help : help.replace(quoted[0], placeholder)
  const head = `  ${spelling}${placeholder === '' ? '' : ` ${placeholder}`}`
  const defaultText = type.defaultText(flag.default)
  const tail = defaultText === undefined ? '' : ` (default ${defaultText})`
  // If a flag has one letter and no placeholder, its help text fits on the same line.
  return `${head}${head.length <= 4 ? '\t' : '\n    \t'}${text.replaceAll('\n', '\n    \t')}${tail}\n`
}
