/** A rule `pattern=level`: files whose name without extension matches the pattern log up to that level. */
export interface VmoduleRule {
  readonly pattern: string
  readonly level: number
}

/** Returns a function that returns the level of a file by the first matching rule, or 0, and caches it. */
export function vmoduleLevels(rules: readonly VmoduleRule[]): (file: string) => number {
  const matchers = rules.map(({ pattern, level }) => ({ matches: globMatcher(pattern), level }))
  const levels = new Map<string, number>()
  return (file) => {
    let level = levels.get(file)
    if (level === undefined) {
      const name = file.replace(/\.[^.]*$/, '')
      level = matchers.find(({ matches }) => matches(name))?.level ?? 0
      levels.set(file, level)
    }
    return level
  }
}

/** A character class, an escaped character, or one character. */
// regex-bounded: the expression reads the value of a flag
const PART = /\[\^?(?:\\.|[^\\\]])+\]|\\?./gsu

/** Returns a matcher for a shell pattern: `*`, `?`, `[a-z]`, `[^a-z]` and `\`. An invalid range matches nothing. */
export function globMatcher(pattern: string): (name: string) => boolean {
  const source = pattern.replace(PART, expressionOf)
  try {
    // regex-bounded: the expression comes from a flag, and only reads the names of our own files
    const expression = new RegExp(`^${source}$`, 's')
    return (name) => expression.test(name)
  } catch {
    return () => false
  }
}

/** Returns a part of a shell pattern as a regular expression. Character classes are the same in both. */
function expressionOf(part: string): string {
  if (part === '*') return '[^/]*'
  if (part === '?') return '[^/]'
  if (part.startsWith('[') && part !== '[') return part
  return RegExp.escape(part.length > 1 && part.startsWith('\\') ? part.slice(1) : part)
}
