import { isUtf8 } from 'node:buffer'
import { goQuote } from '@csi-sidecars/telemetry'
import { CODES, RpcError } from './errors/rpc-error.ts'

/** Decodes the `data` of a Secret for a CSI request. Throws the error of grpc-go if a value is not UTF-8. */
export function secretsFrom(data: Readonly<Record<string, string>> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(data ?? {}).map(([key, value]) => [key, textOf(value)]))
}

function textOf(base64: string): string {
  const bytes = Buffer.from(base64, 'base64')
  if (!isUtf8(bytes)) {
    throw new RpcError(CODES.Internal, 'grpc: error while marshaling: string field contains invalid UTF-8')
  }
  return bytes.toString('utf8')
}

/** The text that replaces a secret. */
export const STRIPPED_SECRET = '***stripped***'

/** The minimum length of a secret that is removed from error messages. A message may contain a shorter value by chance. */
const MIN_STRIPPED_LENGTH = 6

/**
 * Removes the secrets of the request from the error of a call, because the driver may repeat them in its message. Error
 * messages go into statuses, Events, logs and traces.
 */
export function withoutSecrets(error: unknown, request: unknown): unknown {
  if (!(error instanceof RpcError)) return error
  const { secrets = {} } = request as { readonly secrets?: Readonly<Record<string, string>> }
  const values = Object.values(secrets).map((value) => value.trim())
  const details = values
    .filter(({ length }) => length >= MIN_STRIPPED_LENGTH)
    .toSorted((a, b) => b.length - a.length)
    .reduce((text, value) => text.replaceAll(value, STRIPPED_SECRET), error.details)
  if (details === error.details) return error
  const { code, retryAfterMs, origin } = error
  return new RpcError(code, details, { retryAfterMs, origin })
}

/** The rules of the API server for the names of namespaces and Secrets. */
const RULES = {
  namespace: { maxLength: 63, pattern: /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/ },
  // regex-bounded: the expression reads a name of at most 253 characters
  secret: { maxLength: 253, pattern: /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/ },
}

/** A token in a template, by the rules of Go's `os.Expand`: for example `${name}`, `$name` or `$*`. */
const TOKEN = /\$(?:\{([^}]*)\}|\{|([*#$@!?\-0-9]|[A-Za-z_][A-Za-z0-9_]*))/g

/**
 * Returns the name of a namespace or a Secret for a template in a class. Throws the error of the Go sidecars if a token
 * is unknown or the result is not a valid name.
 */
export function resolveTemplate(
  template: string,
  tokens: ReadonlyMap<string, string>,
  kind: 'namespace' | 'secret',
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
  const { maxLength, pattern } = RULES[kind]
  if (text.length <= maxLength && pattern.test(text)) return text
  const subject = template === text ? goQuote(text) : `${goQuote(template)} resolved to ${goQuote(text)} which`
  throw new Error(`${subject} is not a valid ${kind} name`)
}
