/** How a text ends: with a mark that begins where `at` matches, without a width of its own, and has `length` characters. */
export interface LastMark {
  readonly at: RegExp
  readonly length: number
}

/**
 * What follows the last mark in the first line that has all marks in this order, as Go's
 * `mark.*mark.*last(.+)` finds it; undefined where no line has. In linear time: these texts come from users.
 */
export function textBehind(text: string, marks: readonly string[], last: LastMark): string | undefined {
  for (const line of text.split('\n')) {
    const from = endOf(line, marks)
    if (from === undefined) continue
    const rest = line.slice(from)
    let found: number | undefined
    for (const { index } of rest.matchAll(last.at)) {
      if (index + last.length < rest.length) found = index + last.length
    }
    if (found !== undefined) return rest.slice(found)
  }
  return undefined
}

/** Where the last of the marks ends. */
function endOf(line: string, marks: readonly string[]): number | undefined {
  let from = 0
  for (const mark of marks) {
    const at = line.indexOf(mark, from)
    if (at === -1) return undefined
    from = at + mark.length
  }
  return from
}

/** The text between two marks, the first of one and the last of the other, in the first line that has one. */
export function textBetween(text: string, before: string, behind: string): string | undefined {
  for (const line of text.split('\n')) {
    const at = line.indexOf(before)
    const from = at + before.length
    const to = line.lastIndexOf(behind)
    if (at !== -1 && to > from) return line.slice(from, to)
  }
  return undefined
}
