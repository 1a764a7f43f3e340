import { FLAG_TYPES, type Flag, type FlagTable, replaceRemovedFlags } from '@csi-sidecars/sidecar/command-line'

/** One argument of a command line, as it is written. */
export type Argument =
  | {
      readonly kind: 'flag'
      readonly flag: Flag
      readonly value: string
      /** The argument, word by word: `--timeout=1m`, or `--timeout` and `1m`. */
      readonly written: readonly string[]
      /** The removed name under which the flag is given, such as `csiTimeout`. */
      readonly removedName?: string
    }
  /** A flag that the Go sidecars had once. It has no effect. */
  | { readonly kind: 'removed'; readonly name: string; readonly written: readonly string[] }
  | { readonly kind: 'unknown'; readonly name: string; readonly written: readonly string[] }
  /** A word that is no flag. It has no effect, or ends the flags. */
  | { readonly kind: 'word'; readonly written: readonly string[] }

export type FlagSyntax = 'flag' | 'pflag'

/** Splits a command line into arguments, without a check of their values. */
export function argumentsOf(
  args: readonly string[],
  { table, syntax }: { readonly table: FlagTable; readonly syntax: FlagSyntax },
): readonly Argument[] {
  const flags = new Map(table.flatMap((flag) => [flag.name, ...(flag.aliases ?? [])].map((name) => [name, flag])))
  const found: Argument[] = []
  for (let at = 0; at < args.length; ) {
    const argument = argumentAt(args, at, { flags, syntax })
    found.push(argument)
    at += argument.written.length
    // The package `flag` reads no flag after the first word.
    if (argument.kind === 'word' && (syntax === 'flag' || argument.written[0] === '--')) {
      return at < args.length ? [...found, { kind: 'word', written: args.slice(at) }] : found
    }
  }
  return found
}

interface Syntax {
  readonly flags: ReadonlyMap<string, Flag>
  readonly syntax: FlagSyntax
}

function argumentAt(args: readonly string[], at: number, { flags, syntax }: Syntax): Argument {
  const [word = '', next] = args.slice(at, at + 2)
  if (word.length < 2 || !word.startsWith('-') || word === '--') return { kind: 'word', written: [word] }
  const removedMatch = removedFlag(word, next)
  if (removedMatch?.readAs === undefined && removedMatch !== undefined) {
    return { kind: 'removed', name: removedMatch.name, written: args.slice(at, at + removedMatch.wordCount) }
  }
  const body = (removedMatch?.readAs ?? word).replace(/^--?/, '')
  // The notation `-v5` of pflag.
  const short = syntax === 'pflag' && /^-v\d+$/.test(word)
  const [, nameBefore = body, valueAfter] = /^([^=]*)=(.*)$/s.exec(body) ?? []
  const name = short ? 'v' : nameBefore
  const flag = flags.get(name)
  if (flag === undefined) return { kind: 'unknown', name, written: unknownWords(word, next) }
  const isSwitch = FLAG_TYPES[flag.type].isBoolean === true
  const attached = short ? body.slice(1) : valueAfter
  const value = attached ?? (isSwitch ? 'true' : undefined)
  return {
    kind: 'flag',
    flag,
    value: value ?? next ?? '',
    written: value === undefined && next !== undefined ? [word, next] : [word],
    ...(removedMatch !== undefined && { removedName: removedMatch.name }),
  }
}

/** An unknown flag probably has a value if the next word does not look like a flag. */
function unknownWords(word: string, next: string | undefined): readonly string[] {
  return word.includes('=') || next === undefined || next.startsWith('-') ? [word] : [word, next]
}

interface RemovedFlag {
  readonly name: string
  /** The argument in its current form. Undefined if the flag has no effect. */
  readonly readAs: string | undefined
  /** The number of words: the flag, and its value if that is separate. */
  readonly wordCount: number
}

function removedFlag(word: string, next: string | undefined): RemovedFlag | undefined {
  const { args, notices } = replaceRemovedFlags(next === undefined ? [word] : [word, 'value'])
  const [notice] = notices
  if (notice === undefined) return undefined
  const { flag: name = '', readAs } = notice.pairs
  if (readAs !== undefined) return { name, readAs: args[0], wordCount: 1 }
  return { name, readAs: undefined, wordCount: next !== undefined && args.length === 0 ? 2 : 1 }
}
