/**
 * The text of a URL, also of one that is none, without its user part: it may hold a password, and messages end up in
 * logs. Everything up to the last `@` counts, since a password may hold what no URL may.
 */
export function redactedUrl(text: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0] ?? ''
  const at = text.lastIndexOf('@')
  return at < scheme.length ? text : `${scheme}xxxxx${text.slice(at)}`
}
