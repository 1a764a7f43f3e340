import { AssertionError } from 'node:assert'

/** Asserts that the line exists and contains each of these texts. */
export function assertContains(line: string | undefined, ...texts: readonly string[]): void {
  const missing = texts.find((text) => line?.includes(text) !== true)
  if (missing === undefined) return
  throw new AssertionError({ message: `the line does not contain the expected text`, actual: line, expected: missing })
}

/** Returns the last log line of a process: severity, message and pairs, without time and source location. */
export function lastLogLine({ lines }: { readonly lines: readonly string[] }): string {
  const line = lines.at(-1) ?? ''
  return `${line.slice(0, 1)} ${line.slice(line.indexOf(']') + 2)}`
}
