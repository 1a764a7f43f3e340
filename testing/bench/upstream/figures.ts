import type { Role } from '../../e2e/harness/api/cluster.ts'
import { median } from '../../e2e/harness/median.ts'
import type { Side } from './side.ts'

/** One line of a table: the figures of each round, by side. */
export interface Row {
  readonly app: Role
  readonly what: string
  readonly ours: readonly number[]
  readonly original: readonly number[]
}

/** The figures of the rounds of one scene. Rows are in the order in which they were first noted. */
export class Figures {
  readonly #rows = new Map<string, { app: Role; what: string; ours: number[]; original: number[] }>()

  get rows(): readonly Row[] {
    return [...this.#rows.values()]
  }

  note(app: Role, side: Side, figures: Readonly<Record<string, number>>): void {
    for (const [what, figure] of Object.entries(figures)) {
      const key = `${app}/${what}`
      const row = this.#rows.get(key) ?? { app, what, ours: [], original: [] }
      row[side].push(figure)
      this.#rows.set(key, row)
    }
  }
}

/** A table of Markdown: medians, with the range of the rounds behind them, and ours divided by the original's. */
export function markdown(rows: readonly Row[]): string {
  const lines = rows.map(({ app, what, ours, original }) => {
    const cells = [app, what, spread(ours), spread(original), spread(ratios(ours, original))]
    return `| ${cells.join(' | ')} |`
  })
  return ['| sidecar | what | ours | Go original | ours / Go |', '|---|---|---|---|---|', ...lines].join('\n')
}

/** Returns the ratio of each round if the rounds are pairs. Otherwise returns the ratio of the medians. */
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

/** Two or three digits that count: more than that no second run would confirm. */
function readable(figure: number): string {
  const size = Math.abs(figure)
  if (size > 0 && size < 0.1) return figure.toPrecision(2)
  return figure.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2)
}
