/** A parser of bytes from outside, with checks that must hold for any input. */
export interface BytesReader {
  readonly name: string
  /** The inputs from which the fuzzer starts. */
  readonly seeds: readonly (string | Buffer)[]
  /** Byte strings, such as keywords, that the fuzzer inserts because they have a meaning for the parser. */
  readonly keywords: readonly (string | Buffer)[]
  /** Parses the input and throws if a check of the result fails. Catches the errors that the parser may throw. */
  read(input: Buffer): void
}

/** Returns the result of `run`, or the message of an allowed error. Rethrows any other error. */
export function attempt<T>(
  run: () => T,
  isAllowed: (error: Error) => boolean,
): { readonly value: T } | { readonly refused: string } {
  try {
    return { value: run() }
  } catch (error) {
    if (error instanceof Error && isAllowed(error)) return { refused: error.message }
    throw error
  }
}

/** Encodes a length-delimited field of a protobuf message. */
export function field(number: number, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content)
  return Buffer.concat([Buffer.of(number * 8 + 2, bytes.length), bytes])
}

/** Throws unless both values are equal as JSON. */
export function same(one: unknown, other: unknown, description: string): void {
  const [a, b] = [JSON.stringify(one), JSON.stringify(other)]
  if (a !== b) throw new Error(`${description}: ${a} and ${b}`)
}
