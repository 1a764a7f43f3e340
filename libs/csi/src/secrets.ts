import { isUtf8 } from 'node:buffer'
import { CODES, RpcError } from './errors/rpc-error.ts'

/**
 * Returns the `data` of a Secret as the map of a call. Throws the error of Go's gRPC if a value is not UTF-8, because
 * replaced bytes would be another secret.
 */
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

/** Replaces a secret. */
export const STRIPPED_SECRET = '***stripped***'

/** A shorter value may be ordinary text: the driver's message may contain the same user name or mode. */
const SHORTEST_STRIPPED = 6

/**
 * The error of a call, without the values of the request's secrets that the driver repeats in its message: messages
 * go into the status of objects, events, lines and traces.
 */
export function withoutSecrets(error: unknown, request: unknown): unknown {
  if (!(error instanceof RpcError)) return error
  const { secrets = {} } = request as { readonly secrets?: Readonly<Record<string, string>> }
  const values = Object.values(secrets).map((value) => value.trim())
  const details = values
    .filter(({ length }) => length >= SHORTEST_STRIPPED)
    .toSorted((a, b) => b.length - a.length)
    .reduce((text, value) => text.replaceAll(value, STRIPPED_SECRET), error.details)
  if (details === error.details) return error
  const { code, retryAfterMs, origin } = error
  return new RpcError(code, details, { retryAfterMs, origin })
}
