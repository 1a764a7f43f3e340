import { AssertionError } from 'node:assert'

/** The line is there and holds each of these texts. */
export function says(line: string | undefined, ...texts: readonly string[]): void {
  const missing = texts.find((text) => line?.includes(text) !== true)
  if (missing === undefined) return
  throw new AssertionError({ message: `the line does not say what it should`, actual: line, expected: missing })
}

/** The one error line of a start that fails: what it says and its pairs, without time and place. */
export function lastWords({ lines }: { readonly lines: readonly string[] }): string {
  const line = lines.at(-1) ?? ''
  return `${line.slice(0, 1)} ${line.slice(line.indexOf(']') + 2)}`
}
