import { answeredOrValues, throwRefusal } from '@csi-sidecars/base'
import yargs from 'yargs'
import { type Options, STORY_FLAGS, storyOptions } from './options.ts'
import { PROGRAM } from './place.ts'
import { runCommandLine } from './program.ts'
import { run } from './run.ts'

export { signalOfTerminal } from './program.ts'

const USAGE = `A cluster on this machine that shows what the CSI sidecars do.

Usage: ${PROGRAM} [options]`

/** Parses the arguments. An invalid argument throws an error of one line. */
export async function readCommandLine(
  args: readonly string[],
  write: (text: string) => void,
): Promise<Options | 'answered'> {
  let options: Options | undefined
  const parser = yargs([...args])
    .scriptName(PROGRAM)
    .command(
      '$0',
      'Starts the cluster and runs a volume through its life cycle',
      (story) => story.usage(USAGE).options(STORY_FLAGS),
      (values) => {
        options = storyOptions(values)
      },
    )
    .strict()
    .version(false)
    .wrap(80)
    .locale('en')
    .exitProcess(false)
    .fail(throwRefusal)
  const values = await answeredOrValues(parser, args, write)
  return values === 'answered' || options === undefined ? 'answered' : options
}

/** Runs csi-devcluster with the arguments of a command line. Returns the exit code. */
export function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  return runCommandLine(
    (write) => readCommandLine(args, write),
    (options, parts) => run(options, parts, signal),
  )
}
