import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { code, table, withSection } from '../../../tools/docs/markdown.ts'
import { median } from '../../e2e/harness/median.ts'
import { DEFAULT_VERSION, type DriverChoice, type KubernetesVersion, type SidecarVariant } from '../command/options.ts'
import { FOLDERS } from '../machine/folders.ts'

/** The result of one run of a command. */
export interface RunResult {
  /** The command after `npm run node --`, without the option `--sidecars`. */
  readonly command: string
  /** Undefined if the command has no such option. */
  readonly sidecars?: SidecarVariant | undefined
  readonly kubernetes: KubernetesVersion
  readonly driver: DriverChoice['kind']
  /** The result in a few words, without its time. */
  readonly text: string
  readonly seconds: number
}

/** A time is the median of so many of the last runs of a command. */
const ROUNDS = 3
const FILE = join(FOLDERS.results, 'results.json')
const DOCUMENT = join(import.meta.dirname, '../../../docs/testing.md')
const SECTION = 'node-results'

/** Adds the result of a run to the stored results. */
export function recordResult(result: RunResult): void {
  mkdirSync(FOLDERS.results, { recursive: true })
  writeFileSync(FILE, JSON.stringify([...storedResults(), result], undefined, 1))
}

export function storedResults(): readonly RunResult[] {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as RunResult[]) : []
}

/**
 * Returns the rows of the table. Runs of the same command with other sidecars share a row, so that their times stand
 * side by side.
 */
export function rows(results: readonly RunResult[]): readonly (readonly string[])[] {
  return [...Map.groupBy(results, rowKeyOf).values()].map((runs) => {
    const variants = [...Map.groupBy(runs, ({ sidecars }) => sidecars).entries()].map(([sidecars, each]) => ({
      label: sidecars === undefined ? '' : `${sidecars} `,
      text: each.at(-1)?.text ?? '',
      seconds: each.slice(-ROUNDS).map(({ seconds }) => seconds),
    }))
    const texts = [...new Set(variants.map(({ text }) => text))]
    const times = variants.map(({ label, seconds }) => `${label}${Math.round(median(seconds))} s`).join(', ')
    const rounds = Math.min(...variants.map(({ seconds }) => seconds.length))
    const [first] = runs
    return [
      first === undefined ? '' : code(first.command) + settingsOf(first),
      texts.length === 1 ? texts.join() : variants.map(({ label, text }) => `${label}${text}`).join('; '),
      rounds === 1 ? times : `${times}; median of ${rounds}`,
    ]
  })
}

/** Returns the line about the command that has run last. Undefined if none has run. */
export function lineOfLast(results: readonly RunResult[]): string | undefined {
  const last = results.at(-1)
  if (last === undefined) return undefined
  const same = results.filter((each) => rowKeyOf(each) === rowKeyOf(last) && each.sidecars === last.sidecars)
  return rows(same)[0]?.join(': ')
}

/** Writes the table of docs/testing.md. */
export function writeTable(results: readonly RunResult[]): void {
  const text = table(['`npm run node --`', 'result', 'time'], rows(results))
  writeFileSync(DOCUMENT, withSection(readFileSync(DOCUMENT, 'utf8'), SECTION, text))
}

const rowKeyOf = ({ command, kubernetes, driver }: RunResult): string => `${command} ${kubernetes} ${driver}`

/** Returns the settings that are not the defaults. */
function settingsOf({ kubernetes, driver }: RunResult): string {
  const settings = [
    ...(kubernetes === DEFAULT_VERSION ? [] : [`Kubernetes ${kubernetes}`]),
    ...(driver === 'ours' ? [] : ['csi-driver-host-path']),
  ]
  return settings.map((each) => `, ${each}`).join('')
}
