import { runCommandLine, signalOfTerminal } from '@csi-sidecars/devcluster'
import { readCommandLine } from './command-line.ts'
import { runDriverTest } from './run.ts'

export { signalOfTerminal }

/** Tests a driver by a command line. Returns the exit code. */
export function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  return runCommandLine(
    (write) => readCommandLine(args, write),
    (options, parts) => runDriverTest(options, parts, signal),
  )
}
