import { goQuote } from '@csi-sidecars/telemetry'

/** The rules of the API server for the names that templates resolve to. */
const RULES = {
  namespace: { longest: 63, pattern: /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/ },
  // bounded: a name of at most 253 characters
  secret: { longest: 253, pattern: /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/ },
}

/** A token as Go's `os.Expand` finds it: `${name}`, a special character, or letters, digits and underscores. */
const TOKEN = /\$(?:\{([^}]*)\}|\{|([*#$@!?\-0-9]|[A-Za-z_][A-Za-z0-9_]*))/g

/**
 * The name of a namespace or a Secret that a class gives as a template. Throws the error of the Go originals if a token is
 * unknown or the result is no name.
 */
export function resolveTemplate(
  template: string,
  tokens: ReadonlyMap<string, string>,
  what: 'namespace' | 'secret',
): string {
  const unknown = new Set<string>()
  const text = template.replaceAll(TOKEN, (_, braced?: string, plain?: string) => {
    const token = braced ?? plain ?? ''
    // Go drops `${}` and an unclosed `${`.
    if (token === '') return ''
    if (!tokens.has(token)) unknown.add(token)
    return tokens.get(token) ?? ''
  })
  if (unknown.size > 0) {
    const names = [...unknown].sort().map(goQuote).join(' ')
    throw new Error(`error resolving value ${goQuote(template)}: invalid tokens: [${names}]`)
  }
  const { longest, pattern } = RULES[what]
  if (text.length <= longest && pattern.test(text)) return text
  const subject = template === text ? goQuote(text) : `${goQuote(template)} resolved to ${goQuote(text)} which`
  throw new Error(`${subject} is not a valid ${what} name`)
}
