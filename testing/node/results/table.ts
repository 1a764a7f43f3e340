import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { code, table, withSection } from '../../../tools/docs/markdown.ts'
import { median } from '../../e2e/harness/median.ts'
import { DEFAULT_VERSION, type DriverChoice, type KubernetesVersion } from '../command/options.ts'
import { FOLDERS } from '../machine/folders.ts'

/** The result of one run of a command. */
export interface RunResult {
  /** The command after `npm run node --`. */
  readonly command: string
  readonly kubernetes: KubernetesVersion
  readonly driver: DriverChoice['kind']
  /** The result in a few words, without its time. */
  readonly text: string
  readonly seconds: number
}

/** A row shows the median of so many of the last runs of a command. */
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

/** Returns the rows of the table: a row for each command, with its last text and its median time. */
export function rows(results: readonly RunResult[]): readonly (readonly string[])[] {
  return [...Map.groupBy(results, keyOf).values()].flatMap((group) => {
    const last = group.at(-1)
    if (last === undefined) return []
    const rounds = group.slice(-ROUNDS).map(({ seconds }) => seconds)
    const time = `${Math.round(median(rounds))} s${rounds.length === 1 ? '' : `, median of ${rounds.length}`}`
    return [[code(last.command) + settingsOf(last), last.text, time]]
  })
}

/** Returns the line about the command that has run last. Undefined if none has run. */
export function lineOfLast(results: readonly RunResult[]): string | undefined {
  const last = results.at(-1)
  return last && rows(results.filter((each) => keyOf(each) === keyOf(last)))[0]?.join(': ')
}

/** Writes the table of docs/testing.md. */
export function writeTable(results: readonly RunResult[]): void {
  const text = table(['`npm run node --`', 'result', 'time'], rows(results))
  writeFileSync(DOCUMENT, withSection(readFileSync(DOCUMENT, 'utf8'), SECTION, text))
}

const keyOf = ({ command, kubernetes, driver }: RunResult): string => `${command} ${kubernetes} ${driver}`

/** Returns the settings that are not the defaults. */
function settingsOf({ kubernetes, driver }: RunResult): string {
  const settings = [
    ...(kubernetes === DEFAULT_VERSION ? [] : [`Kubernetes ${kubernetes}`]),
    ...(driver === 'ours' ? [] : ['csi-driver-host-path']),
  ]
  return settings.map((each) => `, ${each}`).join('')
}
