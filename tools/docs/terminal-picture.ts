/** What is written before it on the same line is gone. */
const CLEAR_LINE = '\r\u001b[K'
/** `ESC [ 32 m` */
const MARK = new RegExp(`${String.fromCharCode(27)}\\[([\\d;]*)m`)

/** What a program has written to a terminal, and when. */
export interface Chunk {
  /** Seconds since its start. */
  readonly at: number
  readonly text: string
}

const COLUMNS = 80
const ROWS = 26
const CHARACTER = 7.8
const LINE = 17
const MARGIN = 14

/** Marks that the embedded cluster uses: bold, dim, green, red, and their ends. */
const MARKS: Readonly<Record<string, readonly [mark: 'bold' | 'dim' | 'good' | 'bad', on: boolean]>> = {
  '1': ['bold', true],
  '2': ['dim', true],
  '22': ['bold', false],
  '32': ['good', true],
  '31': ['bad', true],
  '39': ['good', false],
}

const STYLE = `
  .screen { fill: #ffffff; stroke: #d1d9e0 }
  text { font: 13px ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; fill: #1f2328; white-space: pre }
  .bold { font-weight: 700 }
  .dim { fill: #59636e }
  .good { fill: #1a7f37 }
  .bad { fill: #d1242f }
  @media (prefers-color-scheme: dark) {
    .screen { fill: #0d1117; stroke: #3d444d }
    text { fill: #f0f6fc }
    .dim { fill: #9198a1 }
    .good { fill: #3fb950 }
    .bad { fill: #f85149 }
  }
  .line { animation: appear 1ms linear both }
  @keyframes appear { from { visibility: hidden } to { visibility: visible } }`

/** A terminal that shows what was written, line by line and when it was; still, with its last screen, if the reader prefers reduced motion. */
export function terminalPicture(chunks: readonly Chunk[], title: string): string {
  const lines = linesOf(chunks)
  const width = Math.ceil(COLUMNS * CHARACTER + 2 * MARGIN)
  const height = ROWS * LINE + 2 * MARGIN
  const shown = lines.map(
    ({ at, text }, row) =>
      `<text class="line" style="animation-delay:${at.toFixed(2)}s" x="${MARGIN}" y="${MARGIN + 13 + row * LINE}">${marked(text)}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<title>${escaped(title)}</title>
<style>${STYLE}
${scrolling(lines)}
</style>
<clipPath id="inside"><rect x="0" y="${MARGIN}" width="${width}" height="${ROWS * LINE + 4}"/></clipPath>
<rect class="screen" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>
<g clip-path="url(#inside)"><g class="all">
${shown.join('\n')}
</g></g>
</svg>
`
}

/** The same, without the part of a silence that is longer: a long silence is only a busy machine. */
export function withoutLongWaits(chunks: readonly Chunk[], longest: number): readonly Chunk[] {
  let before = 0
  let now = 0
  return chunks.map(({ at, text }) => {
    now += Math.min(at - before, longest)
    before = at
    return { at: now, text }
  })
}

/** Whole lines, each with the moment in which it was complete. */
export function linesOf(chunks: readonly Chunk[]): readonly Chunk[] {
  const lines: Chunk[] = []
  let open = ''
  for (const { at, text } of chunks) {
    const [first = '', ...more] = (open + text).replaceAll('\r\n', '\n').split('\n')
    const whole = [first, ...more]
    open = whole.pop() ?? ''
    for (const line of whole) lines.push({ at, text: line.split(CLEAR_LINE).at(-1) ?? '' })
  }
  const last = chunks.at(-1)
  if (open !== '' && last !== undefined) lines.push({ at: last.at, text: open })
  return lines
}

/** Once the screen is full each further line moves all of them up. */
function scrolling(lines: readonly Chunk[]): string {
  const end = (lines.at(-1)?.at ?? 0) + 0.01
  const offsets = new Map<string, number>()
  for (const [row, { at }] of lines.entries()) {
    if (row >= ROWS) offsets.set(((100 * at) / end).toFixed(2), -(row + 1 - ROWS) * LINE)
  }
  const steps = [...offsets].map(([percent, offset]) => `${percent}% { transform: translateY(${offset}px) }`)
  const most = Math.max(0, lines.length - ROWS) * LINE
  return `  .all { transform: translateY(${-most}px); animation: scroll ${end.toFixed(2)}s step-end both }
  @keyframes scroll { 0% { transform: translateY(0) } ${steps.join(' ')} 100% { transform: translateY(${-most}px) } }
  @media (prefers-reduced-motion: reduce) { .line, .all { animation: none } }`
}

function marked(text: string): string {
  const on = new Set<string>()
  return text
    .split(MARK)
    .map((part, at) => {
      if (at % 2 === 0) return part === '' ? '' : span(part, [...on])
      for (const code of part.split(';')) switchMark(on, code)
      return ''
    })
    .join('')
}

function switchMark(on: Set<string>, code: string): void {
  const mark = MARKS[code]
  if (mark === undefined) throw new Error(`the terminal has no mark ${code}`)
  const [name, begins] = mark
  if (begins) on.add(name)
  else for (const ended of name === 'bold' ? ['bold', 'dim'] : ['good', 'bad']) on.delete(ended)
}

function span(text: string, marks: readonly string[]): string {
  return marks.length === 0 ? escaped(text) : `<tspan class="${marks.join(' ')}">${escaped(text)}</tspan>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
