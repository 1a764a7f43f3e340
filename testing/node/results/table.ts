import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { median } from '../../e2e/harness/median.ts'
import type { DriverChoice, KubernetesVersion } from '../command/options.ts'
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

/** Adds the result of a run to the stored results. */
export function recordResult(result: RunResult): void {
  mkdirSync(FOLDERS.results, { recursive: true })
  writeFileSync(FILE, JSON.stringify([...storedResults(), result], undefined, 1))
}

export function storedResults(): readonly RunResult[] {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as RunResult[]) : []
}

/** Returns the rows for docs/testing.md: a row for each command, with its last text and its median time. */
export function rows(results: readonly RunResult[]): readonly string[] {
  const groups = Map.groupBy(results, ({ command, kubernetes, driver }) => `${command} ${kubernetes} ${driver}`)
  return [...groups.values()].flatMap((group) => {
    const last = group.at(-1)
    if (last === undefined) return []
    const rounds = group.slice(-ROUNDS).map(({ seconds }) => seconds)
    const time = `${Math.round(median(rounds))} s${rounds.length === 1 ? '' : `, median of ${rounds.length}`}`
    return [`| \`npm run node -- ${last.command}\` | ${last.text}; ${time}; ${kindOf(last)} |`]
  })
}

function kindOf({ kubernetes, driver }: RunResult): string {
  return `Kubernetes ${kubernetes}, ${driver === 'ours' ? 'the driver of this repository' : 'csi-driver-host-path'}`
}
