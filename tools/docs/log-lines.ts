import { code, table } from './markdown.ts'

export interface LogLine {
  readonly message: string
  readonly means: string
  readonly action: string
}

export const linesTable = (lines: readonly LogLine[]): string =>
  table(
    ['line', 'means', 'what to do'],
    lines.map(({ message, means, action }) => [code(shown(message)), means, action]),
  )

/** Returns a message for a code span: without backticks, and with `...` in place of values. */
function shown(message: string): string {
  return message.replaceAll('`', "'").replace(/\$\{[^}]*\}/g, '...')
}
