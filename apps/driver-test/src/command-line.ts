import { answeredOrValues, throwRefusal } from '@csi-sidecars/base'
import { runCommandLine } from '@csi-sidecars/devcluster'
import yargs from 'yargs'
import { TEST_FLAGS, type TestOptions, testOptions } from './options.ts'
import { PROGRAM } from './place.ts'
import { runDriverTest } from './run.ts'

export { signalOfTerminal } from '@csi-sidecars/devcluster'

const USAGE = `Runs volumes through their life cycle on a CSI driver, injects faults by plan, and checks what the driver does.

Usage: ${PROGRAM} --driver unix:///path [options]

Ends with 0 when all promises were kept, 1 when one was broken, 2 when there was nothing to test.`

/** Parses the arguments. An invalid argument throws an error of one line. */
export async function readCommandLine(
  args: readonly string[],
  write: (text: string) => void,
): Promise<TestOptions | 'answered'> {
  let options: TestOptions | undefined
  const parser = yargs([...args])
    .scriptName(PROGRAM)
    .command(
      '$0',
      'Tests a CSI driver',
      (test) => test.usage(USAGE).options(TEST_FLAGS),
      (values) => {
        options = testOptions(values)
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

/** Runs csi-driver-test with the arguments of a command line. Returns the exit code. */
export function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  return runCommandLine(
    (write) => readCommandLine(args, write),
    (options, parts) => runDriverTest(options, parts, signal),
  )
}
