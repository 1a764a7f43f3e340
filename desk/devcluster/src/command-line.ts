import { STORY_FLAGS, storyOptions } from './options.ts'
import { PROGRAM } from './place.ts'
import { type CommandTable, runCommandLine } from './program.ts'
import { run } from './run.ts'

export { signalOfTerminal } from './program.ts'

export const COMMAND = {
  program: PROGRAM,
  description: 'Starts the cluster and runs a volume through its life cycle',
  usage: `A cluster on this machine that shows what the CSI sidecars do.

Usage: ${PROGRAM} [options]`,
  flags: STORY_FLAGS,
  optionsOf: storyOptions,
} satisfies CommandTable<typeof STORY_FLAGS, unknown>

/** Runs csi-devcluster with the arguments of a command line. Returns the exit code. */
export function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  return runCommandLine(COMMAND, args, (options, deps) => run(options, deps, signal))
}
