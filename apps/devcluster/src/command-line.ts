import { answeredOrValues, throwRefusal } from '@csi-sidecars/base'
import yargs from 'yargs'
import { type Options, STORY_FLAGS, storyOptions } from './options.ts'
import { PROGRAM } from './place.ts'

const USAGE = `A cluster on this machine that shows what the CSI sidecars do.

Usage: ${PROGRAM} [options]`

/** Throws one line that says what is wrong with the arguments. */
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
    .command('completion', 'A script for bash or zsh that completes commands and options', {}, () => {
      parser.showCompletionScript()
    })
    .completion(
      'completion-script',
      false, // with a default command the parser would take `completion` for an argument of it
      (current: string, _: unknown, defaults: () => void, done: (words: string[]) => void) =>
        current.startsWith('-') ? done(storyFlags(current)) : defaults(),
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

/** Returns the flags of the story, whose command has no name. The parser completes flags of named commands only. */
function storyFlags(current: string): string[] {
  return ['help', ...Object.keys(STORY_FLAGS)].map((name) => `--${name}`).filter((flag) => flag.startsWith(current))
}
