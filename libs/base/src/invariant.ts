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
