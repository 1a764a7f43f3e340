import { inspect } from 'node:util'
import { isNativeError } from 'node:util/types'

/** As `instanceof Error`, and true as well for errors of another realm: test runners run code in one of its own. */
export const isError: (thrown: unknown) => thrown is Error = isNativeError

/** Returns the text of a thrown value: the message of an error, and any other value as text. */
export function messageOf(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown
  if (!isError(thrown)) return inspect(thrown, { compact: true, breakLength: Number.POSITIVE_INFINITY })
  // Node puts the failures of a host with several addresses into one error that says nothing itself.
  if (thrown.message === '' && 'errors' in thrown && Array.isArray(thrown.errors)) {
    return thrown.errors.map(messageOf).join('; ')
  }
  return thrown.message
}

/** Returns the thrown value and its causes, outermost first. Ends also when causes form a ring. */
export function* causesOf(thrown: unknown): Generator<unknown> {
  const seen = new Set<unknown>()
  for (let cause = thrown; cause !== undefined && !seen.has(cause); cause = causeOf(cause)) {
    seen.add(cause)
    yield cause
  }
}

function causeOf(thrown: unknown): unknown {
  return isError(thrown) ? thrown.cause : undefined
}

/** The `code` that Node puts on its system errors (`ECONNREFUSED`, ...), looked for along the causes. */
export function systemCodeOf(thrown: unknown): string | undefined {
  for (const cause of causesOf(thrown)) {
    if (isError(cause) && 'code' in cause && typeof cause.code === 'string') return cause.code
  }
  return undefined
}

/** Makes an Error of anything that was thrown. */
export function toError(thrown: unknown): Error {
  return isError(thrown) ? thrown : new Error(messageOf(thrown), { cause: thrown })
}

/** A mistake in this program, never in its input. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError'
}

/** States what must be true here for any input; throws otherwise. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message)
}

/** Closes a switch over a union: the compiler refuses a case that is missing, and bad data throws. */
export function unreachable(value: never): never {
  throw new InvariantError(`unexpected ${JSON.stringify(value)}`)
}
