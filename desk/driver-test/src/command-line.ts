import { type CommandTable, runCommandLine } from '@csi-sidecars/devcluster'
import { TEST_FLAGS, testOptions } from './options.ts'
import { PROGRAM } from './place.ts'
import { runDriverTest } from './run.ts'

export { signalOfTerminal } from '@csi-sidecars/devcluster'

export const COMMAND = {
  program: PROGRAM,
  description: 'Tests a CSI driver',
  usage: `Runs volumes and snapshots through their life cycle on a CSI driver, injects faults by plan, and checks what it does.

Usage: ${PROGRAM} --driver unix:///path [options]

Ends with 0 when all promises were kept, 1 when one was broken, 2 when there was nothing to test.`,
  flags: TEST_FLAGS,
  optionsOf: testOptions,
} satisfies CommandTable<typeof TEST_FLAGS, unknown>

/** Runs csi-driver-test with the arguments of a command line. Returns the exit code. */
export function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  return runCommandLine(COMMAND, args, (options, deps) => runDriverTest(options, deps, signal))
}
