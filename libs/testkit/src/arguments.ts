import process from 'node:process'
import { type ParseArgsConfig, parseArgs } from 'node:util'

type Config = Pick<ParseArgsConfig, 'options' | 'allowPositionals'>
type Arguments<T extends Config> = ReturnType<typeof parseArgs<T>>

/** The arguments of a developer's command. `--help` prints its usage; a wrong one is one line with the usage, and 2. */
export function readArguments<const T extends Config>(usage: string, config: T): Arguments<T> {
  const args = process.argv.slice(2)
  if (args.includes('--help')) {
    process.stdout.write(`usage: ${usage}\n`)
    // biome-ignore lint/plugin: it is the first line of each main.
    process.exit(0)
  }
  try {
    return parseArgs<T>({ ...config, args })
  } catch (error) {
    if (!isWrongArgument(error)) throw error
    // Node's second sentence is about arguments that begin with a hyphen.
    process.stderr.write(`${error.message.split('. ')[0]}\nusage: ${usage}\n`)
    // biome-ignore lint/plugin: it is the first line of each main.
    process.exit(2)
  }
}

function isWrongArgument(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
}
