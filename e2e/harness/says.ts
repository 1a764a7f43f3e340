import { AssertionError } from 'node:assert'

/** The line is there and holds each of these texts. */
export function says(line: string | undefined, ...texts: readonly string[]): void {
  const missing = texts.find((text) => line?.includes(text) !== true)
  if (missing === undefined) return
  throw new AssertionError({ message: `the line does not say what it should`, actual: line, expected: missing })
}
