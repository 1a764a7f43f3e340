import { answeredOrValues, throwRefusal } from '@csi-sidecars/base'
import yargs from 'yargs'
import { TEST_FLAGS, type TestOptions, testOptions } from './driver-test/options.ts'
import { type Options, STORY_FLAGS, storyOptions } from './options.ts'
import { PROGRAM } from './place.ts'

/** What a person asks for on the command line. */
export type Command =
  | { readonly run: 'story'; readonly options: Options }
  | { readonly run: 'test'; readonly options: TestOptions }

const USAGE = `A cluster on this machine that shows what csi-attacher and csi-resizer do.

Usage: ${PROGRAM} [options]
       ${PROGRAM} test --driver unix:///path [options]`

const TEST_USAGE = `Runs volumes through their life cycle on a CSI driver, injects faults by plan, and checks what the driver does.

Usage: ${PROGRAM} test --driver unix:///path [options]

Ends with 0 when all promises were kept, 1 when one was broken, 2 when there was nothing to test.`

/** Throws one line that says what is wrong with the arguments. */
export async function readCommandLine(
  args: readonly string[],
  write: (text: string) => void,
): Promise<Command | 'answered'> {
  let command: Command | undefined
  const parser = yargs([...args])
    .scriptName(PROGRAM)
    .command(
      '$0',
      'Starts the cluster and runs a volume through its life cycle',
      (story) => story.usage(USAGE).options(STORY_FLAGS),
      (values) => {
        command = { run: 'story', options: storyOptions(values) }
      },
    )
    .command(
      'test',
      'Tests a CSI driver; test --help says more',
      (test) => test.usage(TEST_USAGE).options(TEST_FLAGS),
      (values) => {
        command = { run: 'test', options: testOptions(values) }
      },
    )
    .command('completion', 'A script for bash or zsh that completes commands and options', {}, () => {
      parser.showCompletionScript()
    })
    .completion(
      'completion-script',
      false, // beside a command without a name the parser would take its own for an argument of that
      (current: string, argv: unknown, defaults: () => void, done: (words: string[]) => void) =>
        asksForStoryFlag(argv, current) ? done(storyFlags(current)) : defaults(),
    )
    .strict()
    .version(false)
    .wrap(80)
    .locale('en')
    .exitProcess(false)
    .fail(throwRefusal)
  const values = await answeredOrValues(parser, args, write)
  return values === 'answered' || command === undefined ? 'answered' : command
}

/** The parser completes the flags of commands that have a name, and the story has none. */
function asksForStoryFlag(argv: unknown, current: string): boolean {
  const words = typeof argv === 'object' && argv !== null && '_' in argv && Array.isArray(argv._) ? argv._ : []
  return current.startsWith('-') && !words.includes('test')
}

function storyFlags(current: string): string[] {
  return ['help', ...Object.keys(STORY_FLAGS)].map((name) => `--${name}`).filter((flag) => flag.startsWith(current))
}
