/** The part of a yargs parser that the commands use. The yargs package itself is for tools alone. */
export interface CommandLine<Values> {
  parse(
    args: readonly string[],
    context: object,
    callback: (error: unknown, argv: unknown, output: string) => void,
  ): Values | Promise<Values>
}

/**
 * Reads a command line. If the parser answers it itself, with help or a completion, the answer is written, and there are
 * no values. The parser must neither end the process nor print by itself.
 */
export async function answeredOrValues<Values>(
  parser: CommandLine<Values>,
  args: readonly string[],
  write: (text: string) => void,
): Promise<Values | 'answered'> {
  let answered = false
  const values = await parser.parse([...args], {}, (_error, _argv, output) => {
    if (output === '') return
    answered = true
    write(`${output}\n`)
  })
  return answered ? 'answered' : values
}

/** Throws when a flag of one value was given more than once: the parser would hand on a list. */
export function refuseRepeated(values: object, flags: readonly string[]): void {
  const given = new Map<string, unknown>(Object.entries(values))
  const repeated = flags.find((flag) => Array.isArray(given.get(flag)))
  if (repeated !== undefined) throw new Error(`--${repeated} is given more than once`)
}

/**
 * Serves as the `fail` of a parser. The caller gets the error, or an error with the parser's message if there is none.
 */
export function throwRefusal(message: string, error: Error | undefined): never {
  throw error ?? new Error(message)
}
