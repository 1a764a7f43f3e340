const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const

/** Returns an age in the notation of kubectl: the two largest units, `3m12s`, `2d4h`. */
export function ageText(ms: number): string {
  let rest = Math.max(0, Math.floor(ms / 1000))
  const texts: string[] = []
  for (const [unit, seconds] of UNITS) {
    const count = Math.floor(rest / seconds)
    rest -= count * seconds
    if (count > 0) texts.push(`${count}${unit}`)
    else if (texts.length > 0) break
    if (texts.length === 2) break
  }
  return texts.join('') || '0s'
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** Returns the milliseconds of a duration in the format of Go: `1m30s`. Undefined if the text is not a duration. */
export function durationMs(text: string): number | undefined {
  if (text === '0') return 0
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) return undefined
  // regex-bounded: the expression reads a text that the expression above has matched
  const terms = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)]
  return terms.reduce((sum, [, number, unit = '']) => sum + Number(number) * (UNIT_MS[unit] ?? 0), 0)
}
