import { readCommandLine } from './command-line.ts'
import { runCommandLine, signalOfTerminal } from './program.ts'
import { run } from './run.ts'

export { signalOfTerminal }

/** Runs the embedded cluster by a command line. Returns the exit code. */
export function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  return runCommandLine(
    (write) => readCommandLine(args, write),
    (options, parts) => run(options, parts, signal),
  )
}
