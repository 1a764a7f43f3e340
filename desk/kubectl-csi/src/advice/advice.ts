import { readFileSync } from 'node:fs'
import type { RowKey } from '../findings/finding.ts'

/** The advice for one state: a row of a table in docs/operations.md. */
export interface Advice {
  readonly see: string
  readonly means: string
  readonly do: string
  /** The text below the table, for example a warning. Undefined if the row does not refer to that text. */
  readonly below: string | undefined
}

/** Finds the advice for a key in the text of docs/operations.md. */
export type Adviser = (key: RowKey) => Advice

const POINTS_BELOW = 'steps below'

/** Returns an adviser for the text of docs/operations.md. It throws unless exactly one row fits a key. */
export function adviserOf(page: string): Adviser {
  const shared = new Map<RowKey, Advice>()
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
    const advice = shared.get(key) ?? find(key)
    shared.set(key, advice)
    return advice
  }
}

function sectionOf(page: string, heading: string): string {
  const [, rest = ''] = page.split(`\n### ${heading}\n`)
  return rest.split(/\n#{2,3} /)[0] ?? ''
}

/** Returns the cells of each row of a section's table, without the header row. */
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
      // regex-bounded: the expression reads only the documentation of this project
      .replace(/\[([^\]]+)\]\([^)]+\)/g, '$1')
      .replace(/^```\w*\n?/gm, '')
      .replace(/\\\|/g, '|')
  )
}

declare const __OPERATIONS__: string | undefined

/** Returns the text of docs/operations.md. The build embeds it; a program that runs from source reads the file. */
export function operationsText(): string {
  if (typeof __OPERATIONS__ !== 'undefined') return __OPERATIONS__
  return readFileSync(new URL('../../../../docs/operations.md', import.meta.url), 'utf8')
}
