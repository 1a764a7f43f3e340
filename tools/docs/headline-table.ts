import { table } from './markdown.ts'
import { readText } from './source-texts.ts'

/** A row of the README's table of measurements, in testing/bench/headlines.json. */
interface Headline {
  readonly row: string
  /** The start of the heading in testing/bench/RESULTS.md. */
  readonly scene: string
  /** The first two cells of the row in RESULTS.md. The unit ends the second one. */
  readonly sidecar: string
  readonly work: string
}

/** Returns the table. Rows in which the Go sidecars are better or equal come last. The smaller figure is better. */
export function headlineTable(results = readText('testing/bench/RESULTS.md')): string {
  const headlines: readonly Headline[] = JSON.parse(readText('testing/bench/headlines.json'))
  const rows = headlines.map((headline) => [headline.row, ...figuresOf(results, headline)])
  const isForUs = ([, ours = '', theirs = '']: readonly string[]): boolean =>
    Number.parseFloat(ours) < Number.parseFloat(theirs)
  return table(
    ['default flags, unless the row names others', 'csi-sidecars', 'originals'],
    [
      ...rows.filter(isForUs),
      ['**where the originals are ahead or equal**', '', ''],
      ...rows.filter((row) => !isForUs(row)),
    ],
  )
}

/** Returns the medians of this project and of the Go sidecar, with their unit. Throws if RESULTS.md lacks them. */
function figuresOf(results: string, { scene, sidecar, work }: Headline): readonly string[] {
  const section = results.split(/^### /m).find((text) => text.startsWith(scene)) ?? ''
  const line = section.split('\n').find((text) => text.startsWith(`| ${sidecar} | ${work} |`))
  if (line === undefined) throw new Error(`testing/bench/RESULTS.md has no ${work} in ${scene}`)
  const [, , , ours = '', theirs = ''] = line.split('|')
  const unit = /\((\w+)\)$/.exec(work)?.[1] ?? ''
  return [ours, theirs].map((cell) => `${cell.trim().replace(/ \(.*/, '')} ${unit}`)
}
