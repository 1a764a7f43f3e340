/** Texts of drivers, kubelets and servers hold line breaks, and may hold what a terminal obeys or shows in another order. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}]+/gu, ' ')
}

/** For programs: the same texts, but what would turn them around on a terminal is escaped. */
export function jsonText(value: unknown): string {
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `${JSON.stringify(value, undefined, 2).replace(/\p{Bidi_Control}/gu, escaped)}\n`
}
