import type { BrokenInvariant } from './invariants.ts'

/** The result of the run of one seed. */
export interface SeedVerdict {
  /** The findings. The seed has passed if there are none. */
  readonly findings: readonly BrokenInvariant[]
  /** One line about the size of the run, such as `90 actions, 120 calls`. */
  readonly summary: string
  /** Text to add to a finding, such as facts about its object. */
  readonly details?: (finding: BrokenInvariant) => readonly string[]
  /** Text to print after the findings, such as the steps of the seed. It is also printed if there is no finding. */
  readonly appendix?: readonly string[]
}

/** The run of a seed, and the output of its lines. */
export interface SeedRun {
  readonly run: (seed: number) => Promise<SeedVerdict>
  readonly printLine: (line: string) => void
  /** The text to print before the number of the seed, such as the kind of the API server. */
  readonly title?: string
  /** The command that runs one seed again. */
  readonly again: (seed: number) => string
  /** The number of seeds that run at the same time. Default: 1. */
  readonly concurrency?: number
  /** No further seed starts after this signal is aborted. */
  readonly signal?: AbortSignal
}

/** The pattern of a flag value with seeds: `3` or `1-10`. */
export const SEEDS = /^(\d+)(?:-(\d+))?$/
/** The most seeds of one run. More are treated as a typing error. */
const MAX_SEEDS = 10_000

/** Returns the seeds in the value of a flag. Throws if the value is invalid. */
export function seedsOf(flag: string, text: string): readonly number[] {
  const [, first = '', last = first] = SEEDS.exec(text) ?? []
  const [from, to] = [Number(first), Number(last)]
  if (first === '' || !Number.isSafeInteger(to)) {
    throw new Error(`--${flag} ${text}: a seed is a whole number, several are as 1-10`)
  }
  if (to < from) throw new Error(`--${flag} ${text}: the last seed comes before the first`)
  if (to - from >= MAX_SEEDS) throw new Error(`--${flag} ${text}: a run has ${MAX_SEEDS} seeds at most`)
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

/** The most findings of a seed that are printed. */
const PRINTED = 10

/**
 * Runs all seeds. Prints one line and the findings for each seed, and at the end the counts. Returns true if every seed
 * passes.
 */
export async function runSeeds(seeds: readonly number[], options: SeedRun): Promise<boolean> {
  const { run, printLine, concurrency = 1, signal } = options
  const waiting = [...seeds]
  let failed = 0
  let passed = 0
  const worker = async (): Promise<void> => {
    for (let seed = waiting.shift(); seed !== undefined && signal?.aborted !== true; seed = waiting.shift()) {
      const verdict = await run(seed)
      if (verdict.findings.length > 0) failed += 1
      else passed += 1
      for (const line of linesOf(seed, verdict, options)) printLine(line)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  printLine(`${passed} passed, ${failed} failed`)
  return passed === seeds.length && passed > 0
}

function linesOf(seed: number, verdict: SeedVerdict, { title = '', again }: SeedRun): readonly string[] {
  const { findings, summary, details = () => [], appendix = [] } = verdict
  const first = `${findings.length === 0 ? 'ok  ' : 'FAIL'} ${title === '' ? '' : `${title} `}seed ${seed}: ${summary}`
  const last = appendix.map((line) => `     ${line}`)
  if (findings.length === 0) return [first, ...last]
  const printed = findings
    .slice(0, PRINTED)
    .flatMap((finding) => [
      `     ${finding.rule}: ${finding.text}`,
      ...details(finding).map((line) => `       ${line}`),
    ])
  const more = findings.length > PRINTED ? [`     and ${findings.length - PRINTED} more`] : []
  return [first, ...printed, ...more, ...last, `     again: ${again(seed)}`]
}

/** Returns the rows as lines whose columns are aligned. */
export function tableOf(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows.reduce<number[]>(
    (widths, row) => row.map((cell, column) => Math.max(cell.length, widths[column] ?? 0)),
    [],
  )
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
