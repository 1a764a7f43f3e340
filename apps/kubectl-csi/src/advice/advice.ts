import type { RowKey } from '../findings/finding.ts'

/** A row of docs/operations.md, verbatim. */
export interface Advice {
  readonly see: string
  readonly means: string
  readonly do: string
  /** The text after the table, if the row points to it: the dangers of the action. */
  readonly below: string | undefined
}

/** Finds the advice for a key. Only an adviser reads the text of the page. */
export type Adviser = (key: RowKey) => Advice

const POINTS_BELOW = 'See below'

/** Reads the tables of the page. A key that no row or more than one row fits is a fault of ours and throws. */
export function adviserOf(page: string): Adviser {
  const known = new Map<RowKey, Advice>()
  const find = ({ heading, see }: RowKey): Advice => {
    const section = sectionOf(page, heading)
    const rows = rowsOf(section).filter(([cell = '']) => cell.includes(see))
    const [row, ...more] = rows
    if (row === undefined || more.length > 0) {
      throw new Error(`docs/operations.md has ${rows.length} rows under "${heading}" with "${see}"`)
    }
    const [seen = '', means = '', action = ''] = row
    return { see: seen, means, do: action, below: action.includes(POINTS_BELOW) ? afterTable(section) : undefined }
  }
  return (key) => {
    const advice = known.get(key) ?? find(key)
    known.set(key, advice)
    return advice
  }
}

function sectionOf(page: string, heading: string): string {
  const [, rest = ''] = page.split(`\n### ${heading}\n`)
  return rest.split(/\n#{2,3} /)[0] ?? ''
}

/** The cells of a section's table, without its head. */
function rowsOf(section: string): readonly (readonly string[])[] {
  const lines = section.split('\n').filter((line) => line.startsWith('| '))
  return lines.slice(1).map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => plain(cell.trim())),
  )
}

function afterTable(section: string): string {
  return plain(section.slice(section.lastIndexOf('\n|')).split('\n').slice(2).join('\n')).trim()
}

/** Prepares markdown for a terminal: links keep their text, blocks of code lose their fences. */
function plain(markdown: string): string {
  return (
    markdown
      // bounded: our own documents
      .replace(/\[([^\]]+)\]\([^)]+\)/g, '$1')
      .replace(/^```\w*\n?/gm, '')
      .replace(/\\\|/g, '|')
  )
}
