import type { Finding } from './invariants.ts'

/** `3`, or `1-10`. */
export const SEEDS = /^\d+(-\d+)?$/

export function seedsOf(text: string): readonly number[] {
  const [first = Number.NaN, last = first] = text.split('-').map(Number)
  if (!(first <= last)) throw new Error(`seeds are a number or two with a dash between them, not ${text}`)
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

export interface Verdict {
  /** Nothing found: the seed holds. */
  readonly findings: readonly Finding[]
  /** One line: how much has happened. */
  readonly summary: string
  /** Added to each finding, such as what is known of its object. */
  readonly details?: (finding: Finding) => readonly string[]
  /** After the findings, such as the steps that led to them. */
  readonly appendix?: readonly string[]
}

export interface SeedRun {
  readonly run: (seed: number) => Promise<Verdict>
  readonly say: (line: string) => void
  /** Before the seed in its line, such as the server's kind. */
  readonly title?: string
  /** The command that runs one seed again. */
  readonly again: (seed: number) => string
  readonly concurrency?: number
  /** No seed begins after it. */
  readonly signal?: AbortSignal
}

/** So many findings of a seed are printed. */
const PRINTED = 10

/** Runs all seeds, prints a line for each and what was found; the last line counts. Returns whether all hold. */
export async function runSeeds(seeds: readonly number[], options: SeedRun): Promise<boolean> {
  const { run, say, concurrency = 1, signal } = options
  const waiting = [...seeds]
  let failed = 0
  let passed = 0
  const worker = async (): Promise<void> => {
    for (let seed = waiting.shift(); seed !== undefined && signal?.aborted !== true; seed = waiting.shift()) {
      const verdict = await run(seed)
      if (verdict.findings.length > 0) failed += 1
      else passed += 1
      for (const line of linesOf(seed, verdict, options)) say(line)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  say(`${passed} passed, ${failed} failed`)
  return passed === seeds.length && passed > 0
}

function linesOf(seed: number, verdict: Verdict, { title = '', again }: SeedRun): readonly string[] {
  const { findings, summary, details = () => [], appendix = [] } = verdict
  const first = `${findings.length === 0 ? 'ok  ' : 'FAIL'} ${title === '' ? '' : `${title} `}seed ${seed}: ${summary}`
  if (findings.length === 0) return [first]
  const printed = findings
    .slice(0, PRINTED)
    .flatMap((finding) => [
      `     ${finding.rule}: ${finding.text}`,
      ...details(finding).map((line) => `       ${line}`),
    ])
  const more = findings.length > PRINTED ? [`     and ${findings.length - PRINTED} more`] : []
  return [first, ...printed, ...more, ...appendix.map((line) => `     ${line}`), `     again: ${again(seed)}`]
}

/** Rows of cells in columns. */
export function tableOf(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows.reduce<number[]>(
    (known, row) => row.map((cell, column) => Math.max(cell.length, known[column] ?? 0)),
    [],
  )
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
