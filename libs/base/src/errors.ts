import { inspect } from 'node:util'
import { isNativeError } from 'node:util/types'

/** Like `instanceof Error`, but also true for errors of another realm. Test runners run code in a separate realm. */
export const isError: (thrown: unknown) => thrown is Error = isNativeError

/** Returns the text of a thrown value: the message of an error, and any other value as text. */
export function messageOf(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown
  if (!isError(thrown)) return inspect(thrown, { compact: true, breakLength: Number.POSITIVE_INFINITY })
  // If a host has several addresses, Node reports all failed connections in one error without a message.
  if (thrown.message === '' && 'errors' in thrown && Array.isArray(thrown.errors)) {
    return thrown.errors.map(messageOf).join('; ')
  }
  return thrown.message
}

/** Returns the thrown value and its causes, outermost first, each only once even if the causes form a ring. */
export function* errorChain(thrown: unknown): Generator<unknown> {
  const seen = new Set<unknown>()
  for (let cause = thrown; cause !== undefined && !seen.has(cause); cause = causeOf(cause)) {
    seen.add(cause)
    yield cause
  }
}

function causeOf(thrown: unknown): unknown {
  return isError(thrown) ? thrown.cause : undefined
}

/** Returns the code of the first system error of Node among the error and its causes, for example `ECONNREFUSED`. */
export function systemCodeOf(thrown: unknown): string | undefined {
  for (const cause of errorChain(thrown)) {
    if (isError(cause) && 'code' in cause && typeof cause.code === 'string') return cause.code
  }
  return undefined
}

/** Returns a thrown error unchanged, and wraps any other thrown value in an Error. */
export function toError(thrown: unknown): Error {
  return isError(thrown) ? thrown : new Error(messageOf(thrown), { cause: thrown })
}

/** The error of a bug in this program. Invalid input never causes it. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError'
}

/** Throws an InvariantError if the condition is false. Only a bug makes it false. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message)
}

/** Ends a `switch` over a union type: the compiler reports a missing case, and unexpected data throws at run time. */
export function unreachable(value: never): never {
  throw new InvariantError(`unexpected ${JSON.stringify(value)}`)
}
