/** A mark at the end of a search. It begins where `at` matches, without width, and has `length` characters. */
export interface LastMark {
  readonly at: RegExp
  readonly length: number
}

/**
 * Returns the text behind the last mark in the first line that has all marks in this order, as Go's
 * `mark.*mark.*last(.+)` does. Undefined if no line has them. It takes linear time, because users write these texts.
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

/** Returns the end of the last mark. Undefined if a mark is missing. */
function endOf(line: string, marks: readonly string[]): number | undefined {
  let from = 0
  for (const mark of marks) {
    const at = line.indexOf(mark, from)
    if (at === -1) return undefined
    from = at + mark.length
  }
  return from
}

/** Returns the text between the first `before` and the last `behind`, in the first line that has such a text. */
export function textBetween(text: string, before: string, behind: string): string | undefined {
  for (const line of text.split('\n')) {
    const at = line.indexOf(before)
    const from = at + before.length
    const to = line.lastIndexOf(behind)
    if (at !== -1 && to > from) return line.slice(from, to)
  }
  return undefined
}
