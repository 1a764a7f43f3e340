import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type HeadlineFigures, type Headlines, headlines } from '../../../tools/docs/headline-table.ts'
import { ROOT } from '../../../tools/docs/source-texts.ts'

const WIDTH = 880
const LEFT = 420
const LONGEST = 360
const BAR = 12
const ROW = 40
const MARGIN = 16

const STYLE = `
  text { font: 13px -apple-system, "Segoe UI", "Liberation Sans", sans-serif; fill: #1f2328 }
  .head { font-weight: 600; font-size: 14px }
  .small { font-size: 11px; fill: #59636e }
  .ours { fill: #0969da }
  .theirs { fill: #8c959f }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .small { fill: #9198a1 }
    .ours { fill: #4493f8 }
    .theirs { fill: #6e7681 }
  }`

/** Draws the figures of testing/bench/RESULTS.md for the README. */
export function drawFigures(): void {
  writeFileSync(join(ROOT, 'docs/pictures/figures.svg'), barsOf(headlines()))
}

/** The figures as bars beside each other. Units differ from row to row, so each pair has a scale of its own. */
export function barsOf({ forUs, forTheOriginals }: Headlines): string {
  const parts: string[] = []
  let y = MARGIN + 8
  const heading = (text: string): void => {
    parts.push(`<text class="head" x="${MARGIN}" y="${y + 4}">${escaped(text)}</text>`)
    y += 20
  }
  const rows = (figures: readonly HeadlineFigures[]): void => {
    for (const figure of figures) {
      parts.push(rowOf(figure, y))
      y += ROW
    }
  }
  parts.push(legend(y))
  heading('Less is better')
  rows(forUs)
  y += 10
  heading('Where the originals are ahead or equal')
  rows(forTheOriginals)
  parts.push(`<text class="small" x="${MARGIN}" y="${y + 8}">Each pair of bars has a scale of its own.</text>`)
  const height = y + 8 + MARGIN
  const title = 'csi-sidecars beside the Go originals: time, memory and CPU'
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${title}">
<title>${title}</title>
<style>${STYLE}
</style>
${parts.join('\n')}
</svg>
`
}

function legend(y: number): string {
  const entry = (name: string, text: string, x: number): string =>
    `<rect class="${name}" x="${x}" y="${y - 6}" width="${BAR}" height="${BAR}" rx="2"/><text x="${x + 18}" y="${y + 4}">${text}</text>`
  return `${entry('ours', 'csi-sidecars', LEFT)}${entry('theirs', 'Go originals', LEFT + 120)}`
}

function rowOf([says, ours, theirs]: HeadlineFigures, y: number): string {
  const most = Math.max(Number.parseFloat(ours), Number.parseFloat(theirs))
  const bar = (name: string, text: string, top: number): string => {
    // A bar has a minimum width, so that it is visible.
    const width = Math.max(2, (LONGEST * Number.parseFloat(text)) / most)
    const rect = `<rect class="${name}" x="${LEFT}" y="${top}" width="${width.toFixed(1)}" height="${BAR}" rx="2"/>`
    return `${rect}<text class="small" x="${(LEFT + width + 6).toFixed(1)}" y="${top + 10}">${escaped(text)}</text>`
  }
  const label = `<text x="${MARGIN}" y="${y + 17}">${escaped(says)}</text>`
  return [label, bar('ours', ours, y), bar('theirs', theirs, y + BAR + 2)].join('\n')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
