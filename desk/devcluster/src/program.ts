import { createWriteStream } from 'node:fs'
import process from 'node:process'
import { answeredOrValues, CancelledError, messageOf, systemClock, throwRefusal } from '@csi-sidecars/base'
import { openLog } from '@csi-sidecars/telemetry'
import yargs, { type InferredOptionTypes, type Options as YargsOptions } from 'yargs'
import type { RunParts } from './run.ts'
import { styleFor } from './terminal/printer.ts'

/** The command line of a program, and the function that turns the values of its flags into options. */
export interface CommandTable<F extends FlagOptions, T> {
  readonly program: string
  readonly description: string
  readonly usage: string
  readonly flags: F
  readonly optionsOf: (values: InferredOptionTypes<F>) => T
}

/** Returns an AbortSignal that the first SIGINT, SIGTERM or SIGHUP aborts. The second of them ends the process. */
export function signalOfTerminal(): AbortSignal {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(130)
      stop.abort(new CancelledError(signal))
    })
  }
  return stop.signal
}

const write = (text: string): void => void process.stdout.write(text)

type FlagOptions = Readonly<Record<string, YargsOptions>>

/** Parses the arguments. An invalid argument throws an error of one line. */
export async function readCommandLine<F extends FlagOptions, T>(
  { program, description, usage, flags, optionsOf }: CommandTable<F, T>,
  args: readonly string[],
  print: (text: string) => void,
): Promise<T | 'answered'> {
  let options: T | undefined
  const parser = yargs([...args])
    .scriptName(program)
    .command(
      '$0',
      description,
      (command) => command.usage(usage).options(flags),
      (values) => {
        // The cast is safe, because the parser was created with these flags.
        options = optionsOf(values as InferredOptionTypes<F>)
      },
    )
    .strict()
    .version(false)
    .wrap(80)
    .locale('en')
    .exitProcess(false)
    .fail(throwRefusal)
  const values = await answeredOrValues(parser, args, print)
  return values === 'answered' || options === undefined ? 'answered' : options
}

/** Parses a command line and runs the program. The exit code is 0 after `--help` and 2 after a wrong argument. */
export async function runCommandLine<F extends FlagOptions, T>(
  table: CommandTable<F, T>,
  args: readonly string[],
  run: (options: T, deps: RunParts) => Promise<number>,
): Promise<number> {
  try {
    const style = styleFor(process.stdout, process.env)
    const terminal = { write, style, interactive: process.stdout.isTTY === true }
    const log = (file: string) =>
      openLog({ stream: createWriteStream(file), format: 'text', verbosity: 2, clock: systemClock }).log
    const options = await readCommandLine(table, args, write)
    return options === 'answered' ? 0 : await run(options, { terminal, clock: systemClock, openLog: log })
  } catch (error) {
    write(`${messageOf(error)}\n`)
    return 2
  }
}
