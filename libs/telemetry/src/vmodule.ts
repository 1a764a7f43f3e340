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

/** Returns a matcher for a shell pattern: `*`, `?`, `[a-z]`, `[^a-z]` and `\`. An invalid pattern matches nothing. */
export function globMatcher(pattern: string): (name: string) => boolean {
  const source = globSource(pattern)
  if (source === undefined) return () => false
  // regex-bounded: the expression comes from a flag, and only reads the names of our own files
  const expression = new RegExp(`^${source}$`, 'su')
  return (name) => expression.test(name)
}

const escaped = (character: string): string => character.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&')

function globSource(pattern: string): string | undefined {
  let source = ''
  const characters = [...pattern]
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? ''
    if (character === '*') source += '[^/]*'
    else if (character === '?') source += '[^/]'
    else if (character === '[') {
      const characterClass = characterClassAt(characters, at + 1)
      if (characterClass === undefined) return undefined
      source += characterClass.source
      at = characterClass.end
    } else if (character === '\\') {
      at += 1
      const literal = characters[at]
      if (literal === undefined) return undefined
      source += escaped(literal)
    } else source += escaped(character)
  }
  return source
}

/** Parses the character class behind the bracket at `start - 1`. `end` is the index of its closing bracket. */
function characterClassAt(characters: readonly string[], start: number): { source: string; end: number } | undefined {
  let at = start
  let source = '['
  if (characters[at] === '^') {
    source += '^'
    at += 1
  }
  const first = at
  const next = (): string | undefined => {
    if (characters[at] === '\\') at += 1
    const character = characters[at]
    at += 1
    return character
  }
  while (at < characters.length) {
    if (characters[at] === ']' && at > first) return { source: `${source}]`, end: at }
    const low = next()
    if (low === undefined) return undefined
    source += escaped(low)
    if (characters[at] !== '-') continue
    at += 1
    const high = next()
    if (high === undefined || high < low) return undefined
    source += `-${escaped(high)}`
  }
  return undefined
}
