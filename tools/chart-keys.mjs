// The row of a flag says how the chart sets it. A sidecar does not need that: the build leaves it out.

const FIELD = /\bchart: /g

/** Returns the source of a table of flags without the field `chart` of its rows. Keeps the line numbers. */
export function withoutChartKeys(source) {
  let rest = source
  let result = ''
  for (let at = rest.search(FIELD); at >= 0; at = rest.search(FIELD)) {
    const value = at + 'chart: '.length
    const end = rest[value] === '{' ? endOfObject(rest, value) : value + /^\w+/.exec(rest.slice(value))[0].length
    result += rest.slice(0, at) + rest.slice(at, end).replace(/[^\n]/g, '')
    rest = rest.slice(end).replace(/^,/, '')
  }
  return result + rest
}

/** Returns the position after the brace that closes the brace at `start`. Braces in texts do not count. */
function endOfObject(source, start) {
  const bare = source.slice(start).replace(/'[^'\n]*'|"[^"\n]*"/g, (text) => ' '.repeat(text.length))
  let depth = 0
  for (let at = 0; at < bare.length; at += 1) {
    if (bare[at] === '{') depth += 1
    if (bare[at] === '}') depth -= 1
    if (depth === 0) return start + at + 1
  }
  throw new Error(`a field chart has no end: ${source.slice(start, start + 60)}`)
}
