/** The part of a yargs parser that the commands use. This package does not depend on yargs, only the tools do. */
export interface CommandLine<Values> {
  parse(
    args: readonly string[],
    context: object,
    callback: (error: unknown, argv: unknown, output: string) => void,
  ): Values | Promise<Values>
}

/**
 * Parses a command line. If the parser answers with a help text or a completion, writes the text and returns
 * `answered`. The parser must neither print nor end the process.
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

/** Throws if a flag of one value is given more than once. The parser returns a list for such a flag. */
export function refuseRepeated(values: object, flags: readonly string[]): void {
  const byName = new Map<string, unknown>(Object.entries(values))
  const repeated = flags.find((flag) => Array.isArray(byName.get(flag)))
  if (repeated !== undefined) throw new Error(`--${repeated} is given more than once`)
}

/** The `fail` handler of a parser. Throws the given error, or an error with the parser's message if there is none. */
export function throwRefusal(message: string, error: Error | undefined): never {
  throw error ?? new Error(message)
}
