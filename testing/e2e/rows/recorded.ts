import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/** The trace of one step: the lines of both sidecars. */
export interface RecordedStep {
  readonly name: string
  /** Each line with its owner: both sidecars, only the Go sidecar, or only ours. */
  readonly lines: readonly (readonly [owner: ' ' | '-' | '+', line: string])[]
}

export type RecordedSteps = readonly RecordedStep[]

/** What one sidecar has done in one step. */
export interface SeenStep {
  readonly name: string
  readonly lines: readonly string[]
}

/**
 * The traces of the rows of one file, as text beside it:
 *
 *     # the title of the row
 *     > the first step
 *       a line of both sidecars
 *     - a line of the Go sidecar only
 *     + a line of our sidecar only
 */
export class RecordedTraces {
  readonly #file: string
  readonly #titles: string[] = []
  readonly #rows: Map<string, RecordedSteps>

  constructor(file: string) {
    this.#file = file
    this.#rows = existsSync(file) ? parse(readFileSync(file, 'utf8')) : new Map()
  }

  /** Adds the title of a row. The file has the rows in this order. */
  addTitle(title: string): void {
    this.#titles.push(title)
  }

  stepsOf(title: string): RecordedSteps {
    return this.#rows.get(title) ?? []
  }

  /** Stores the lines of one sidecar, and keeps those of the other. */
  record(title: string, isOurs: boolean, steps: readonly SeenStep[]): void {
    const knownSteps = this.stepsOf(title)
    const merged = steps.map(({ name, lines }, index) => {
      const other = linesOf(knownSteps[index], !isOurs)
      return { name, lines: isOurs ? compared(other, lines) : compared(lines, other) }
    })
    this.#rows.set(title, merged)
    const rows = this.#titles.flatMap((each) => {
      const recorded = this.#rows.get(each)
      return recorded === undefined ? [] : [textOf(each, recorded)]
    })
    writeFileSync(this.#file, rows.join('\n'))
  }
}

/** Returns the lines of our sidecar, or of the Go sidecar. */
export function linesOf(step: RecordedStep | undefined, isOurs: boolean): readonly string[] {
  const other = isOurs ? '-' : '+'
  return (step?.lines ?? []).flatMap(([owner, line]) => (owner === other ? [] : [line]))
}

function parse(text: string): Map<string, RecordedSteps> {
  const rows = new Map<string, RecordedSteps>()
  for (const row of text.split(/^# /m).slice(1)) {
    const [head = '', ...steps] = row.split(/^> /m)
    rows.set(head.trim(), steps.map(parseStep))
  }
  return rows
}

function parseStep(text: string): RecordedStep {
  const [name = '', ...lines] = text.split('\n').filter((line) => line !== '')
  return { name, lines: lines.map((line) => [ownerOf(line), line.slice(2)]) }
}

function ownerOf(line: string): ' ' | '-' | '+' {
  const [owner] = line
  return owner === '-' || owner === '+' ? owner : ' '
}

function textOf(title: string, steps: RecordedSteps): string {
  const lines = steps.flatMap((step) => [`> ${step.name}`, ...step.lines.map(([owner, line]) => `${owner} ${line}`)])
  return [`# ${title}`, ...lines, ''].join('\n')
}

/** Merges two lists of lines, with as many common lines as possible. */
function compared(go: readonly string[], ours: readonly string[]): RecordedStep['lines'] {
  const [first, ...others] = go
  if (first === undefined) return ours.map((line) => ['+', line])
  const place = ours.indexOf(first)
  if (place === 0) return [[' ', first], ...compared(others, ours.slice(1))]
  const without: RecordedStep['lines'] = [['-', first], ...compared(others, ours)]
  if (place === -1) return without
  const skipped = ours.slice(0, place).map((line) => ['+', line] as const)
  const common: RecordedStep['lines'] = [...skipped, [' ', first], ...compared(others, ours.slice(place + 1))]
  return common.length <= without.length ? common : without
}
