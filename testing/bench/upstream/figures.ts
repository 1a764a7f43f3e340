import { APPS } from '@csi-sidecars/sidecars'
import type { Role } from '../../e2e/harness/api/cluster.ts'
import { median } from '../../e2e/harness/median.ts'
import type { Executables as OfOurs, TestedApp } from '../../e2e/harness/subject.ts'

/** The measured implementation: the sidecars of this project, or the Go sidecars. */
export type Side = 'ours' | 'original'

export const SIDES: readonly Side[] = ['ours', 'original']
export { APPS }

/** The paths of our executables and of the Go sidecars, by sidecar. */
export interface ComparedExecutables {
  readonly ours: OfOurs
  readonly original: Readonly<Record<TestedApp, string>>
}

/** One line of the table of results: the figures of each round for both implementations. */
export interface Row {
  readonly app: Role
  readonly name: string
  readonly ours: readonly number[]
  readonly original: readonly number[]
}

/** Collects the figures of one benchmark. The rows keep the order in which they were first recorded. */
export class Figures {
  readonly #rows = new Map<string, { app: Role; name: string; ours: number[]; original: number[] }>()

  get rows(): readonly Row[] {
    return [...this.#rows.values()]
  }

  note(app: Role, side: Side, figures: Readonly<Record<string, number>>): void {
    for (const [name, figure] of Object.entries(figures)) {
      const key = `${app}/${name}`
      const row = this.#rows.get(key) ?? { app, name, ours: [], original: [] }
      row[side].push(figure)
      this.#rows.set(key, row)
    }
  }
}

/** Returns a Markdown table with the medians and ranges of the rounds, and the ratio of ours to the Go sidecars. */
export function markdown(rows: readonly Row[]): string {
  const lines = rows.map(({ app, name, ours, original }) => {
    const cells = [app, name, spread(ours), spread(original), spread(ratios(ours, original))]
    return `| ${cells.join(' | ')} |`
  })
  return ['| sidecar | what | ours | Go sidecar | ours / Go |', '|---|---|---|---|---|', ...lines].join('\n')
}

/** Returns the ratio of each round if both implementations ran equally often, else the ratio of the medians. */
function ratios(ours: readonly number[], original: readonly number[]): number[] {
  const divided =
    ours.length === original.length
      ? ours.map((figure, round) => figure / (original[round] ?? Number.NaN))
      : [median(ours) / median(original)]
  return divided.filter(Number.isFinite)
}

function spread(figures: readonly number[]): string {
  if (figures.length === 0) return '-'
  const [least, most] = [Math.min(...figures), Math.max(...figures)].map(readable)
  const middle = readable(median(figures))
  return least === most ? middle : `${middle} (${least} to ${most})`
}

/** Formats a figure with two or three significant digits. A second run would not confirm more digits. */
function readable(figure: number): string {
  const size = Math.abs(figure)
  if (size > 0 && size < 0.1) return figure.toPrecision(2)
  if (size >= 100) return figure.toFixed(0)
  return figure.toFixed(size >= 10 ? 1 : 2)
}
