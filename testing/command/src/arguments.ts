import process from 'node:process'
import { type ParseArgsConfig, parseArgs } from 'node:util'

type Config = Pick<ParseArgsConfig, 'options' | 'allowPositionals'>
type Arguments<T extends Config> = ReturnType<typeof parseArgs<T>>

/** The patterns of option values: a positive whole number, and a number of 0 or more. */
export const COUNT = /^[1-9]\d*$/
export const NUMBER = /^\d+(\.\d+)?$/

/**
 * Parses the arguments of a command. `--help` prints the usage and exits with 0. A wrong argument prints one line and
 * the usage, and exits with 2. Each value must match the pattern of its option in `forms`.
 */
export function readArguments<const T extends Config>(
  usage: string,
  config: T,
  forms: Readonly<Record<string, RegExp>> = {},
): Arguments<T> {
  const args = process.argv.slice(2)
  if (args.includes('--help')) {
    process.stdout.write(`usage: ${usage}\n`)
    // biome-ignore lint/plugin: each main calls `readArguments` first.
    process.exit(0)
  }
  try {
    const read = parseArgs<T>({ ...config, args })
    const values = new Map(Object.entries(read.values))
    const wrong = Object.entries(forms).find(([name, form]) => values.has(name) && !form.test(String(values.get(name))))
    if (wrong === undefined) return read
    return refuse(usage, `--${wrong[0]} cannot be ${JSON.stringify(values.get(wrong[0]))}`)
  } catch (error) {
    if (!isWrongArgument(error)) throw error
    // The message of Node has a second sentence about arguments that begin with a hyphen, which is left out.
    return refuse(usage, error.message.split('. ')[0] ?? '')
  }
}

function refuse(usage: string, why: string): never {
  process.stderr.write(`${why}\nusage: ${usage}\n`)
  // biome-ignore lint/plugin: each main calls `readArguments` first.
  process.exit(2)
}

function isWrongArgument(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
}
