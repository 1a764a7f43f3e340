import { messageOf } from '@csi-sidecars/base'
import { goQuote } from '@csi-sidecars/telemetry'
import { FLAG_TYPES, type FlagType, type FlagTypeName, type FlagValues } from './flag-types.ts'
import { nearestFlag } from './nearest-flag.ts'

/** One flag as data: the parser, the usage text, the documentation and the chart are made from it. */
export type Flag = {
  readonly [N in FlagTypeName]: {
    readonly name: string
    readonly type: N
    readonly default: FlagValues[N]
    /** A word in back quotes becomes the placeholder, as in Go. */
    readonly help: string
    /** Other spellings; of all spellings the last one given wins. */
    readonly aliases?: readonly string[]
    /** For type `choice`. */
    readonly choices?: readonly string[]
    readonly chart?: ChartKey
  }
}[FlagTypeName]

export type FlagTable = readonly Flag[]

/**
 * How the Helm chart sets a flag. Templates, schema and tables of the chart are made from it, and their tests; the build
 * leaves it out of the executables (`tools/chart-keys.mjs`).
 */
export type ChartKey =
  | {
      /** Below the section of the sidecar, or with a dot below the values as a whole. */
      readonly key: string
      /** A value for tests that is not the default. */
      readonly sample: unknown
      /** What the sample is passed as, where that is not its own text. */
      readonly text?: string
      /** The least number that the chart takes. */
      readonly minimum?: number
      /** The template of this flag is written by hand, because it is not the plain value. */
      readonly by?: 'hand'
    }
  /** Only additionalArgs passes it, for this reason. */
  | { readonly none: string }

/** What a flag holds: the word list of a choice, otherwise the value of its type. */
type ValueOf<F extends Flag> = F extends { type: 'choice'; choices: readonly (infer W)[] } ? W : FlagValues[F['type']]

export interface Flags<T extends FlagTable> {
  readonly values: { readonly [F in T[number] as F['name']]: ValueOf<F> }
  /** Which flags were on the command line, whatever their value. */
  readonly given: ReadonlySet<T[number]['name']>
}

/** Why a command line is refused. */
export interface RefusedFlags {
  readonly kind: 'refused'
  /** As Go has it. */
  readonly error: string
  /** The flag that an unknown one was most likely meant to be. */
  readonly nearest?: string
}

/** `help` is exit code 0 with the usage on standard error, `refused` exit code 2 with the error before and after it. */
export type ParsedFlags<T extends FlagTable> =
  | { readonly kind: 'flags'; readonly flags: Flags<T> }
  | { readonly kind: 'help' }
  | RefusedFlags

/**
 * Reads arguments as Go's `flag` package does: `-f=v --f=v -f v --f v`, booleans only with `=`, the last one wins, maps
 * merge. Parsing ends at the first argument that is no flag, at `-` and after `--`; what follows is ignored.
 */
export function parseFlags<const T extends FlagTable>(table: T, args: readonly string[]): ParsedFlags<T> {
  const reader = new Reader(table)
  for (let at = 0; at < args.length; ) {
    const step = reader.read(args, at)
    if (step.kind === 'end') break
    if (step.kind !== 'next') return step
    at = step.at
  }
  // The reader sets, under each name of the table, what its flag's type reads, which is what ValueOf says.
  return { kind: 'flags', flags: { values: reader.values as Flags<T>['values'], given: reader.given } }
}

type Step =
  | { readonly kind: 'next'; readonly at: number }
  | { readonly kind: 'end' }
  | { readonly kind: 'help' }
  | RefusedFlags

class Reader {
  readonly values: Record<string, unknown> = {}
  readonly given = new Set<string>()
  readonly #flags = new Map<string, Flag>()

  constructor(table: FlagTable) {
    for (const flag of table) {
      this.values[flag.name] = flag.default
      for (const name of [flag.name, ...(flag.aliases ?? [])]) this.#flags.set(name, flag)
    }
  }

  /** Reads the flag that begins at `at`, with its value where that is an argument of its own. */
  read(args: readonly string[], at: number): Step {
    const argument = args[at] ?? ''
    if (argument.length < 2 || !argument.startsWith('-') || argument === '--') return { kind: 'end' }
    const body = argument.slice(argument.startsWith('--') ? 2 : 1)
    if (/^[-=]/.test(body)) return refused(`bad flag syntax: ${argument}`)
    const equals = body.indexOf('=')
    const name = equals < 0 ? body : body.slice(0, equals)
    const flag = this.#flags.get(name)
    if (flag === undefined) {
      return name === 'help' || name === 'h' ? { kind: 'help' } : this.#unknown(name)
    }
    let next = at + 1
    let text = equals < 0 ? undefined : body.slice(equals + 1)
    if (text === undefined && FLAG_TYPES[flag.type].boolean === true) text = 'true'
    if (text === undefined) {
      text = args[next]
      next += 1
    }
    if (text === undefined) return refused(`flag needs an argument: -${name}`)
    const error = this.#set(flag, name, text)
    return error === undefined ? { kind: 'next', at: next } : refused(error)
  }

  #unknown(name: string): RefusedFlags {
    const nearest = nearestFlag(name, this.#flags.keys())
    return { ...refused(`flag provided but not defined: -${name}`), ...(nearest !== undefined && { nearest }) }
  }

  /** Returns what is wrong with the text. */
  #set(flag: Flag, name: string, text: string): string | undefined {
    const before = this.given.has(flag.name) ? this.values[flag.name] : undefined
    // Each type reads back only what it has set itself.
    const type = FLAG_TYPES[flag.type] as FlagType<unknown>
    try {
      this.values[flag.name] = type.read(text, before, flag.choices ?? [])
    } catch (error) {
      const subject = type.boolean === true ? `boolean value ${goQuote(text)} for` : `value ${goQuote(text)} for flag`
      return `invalid ${subject} -${name}: ${messageOf(error)}`
    }
    this.given.add(flag.name)
    return undefined
  }
}

const refused = (error: string): RefusedFlags => ({ kind: 'refused', error })
