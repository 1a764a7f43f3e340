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

/** Back quotes would end the code span, and values are not part of the line. */
function shown(message: string): string {
  return message.replaceAll('`', "'").replace(/\$\{[^}]*\}/g, '...')
}
