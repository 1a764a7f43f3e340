import { messageOf } from '@csi-sidecars/base'
import { goQuote } from '@csi-sidecars/telemetry'
import { FLAG_TYPES, type FlagType, type FlagTypeName, type FlagValues } from './flag-types.ts'
import { nearestFlag } from './nearest-flag.ts'

/** One flag as data. The parser, the usage, the documentation and the chart are derived from it. */
export type Flag = {
  readonly [N in FlagTypeName]: {
    readonly name: string
    readonly type: N
    readonly default: FlagValues[N]
    /** The help text. A word in back quotes is the value's placeholder. */
    readonly help: string
    /** Other names of the flag. The last value of all names wins. */
    readonly aliases?: readonly string[]
    /** The values of a flag of type `choice`. */
    readonly choices?: readonly string[]
    readonly chart?: ChartKey
  }
}[FlagTypeName]

export type FlagTable = readonly Flag[]

/** The setting of a flag in the Helm chart. Templates, schema, tables and tests of the chart are derived from it. */
export type ChartKey =
  | {
      /** The key in the section of the sidecar in values.yaml. A key with a dot is a path from the root. */
      readonly key: string
      /** A value for tests. It is not the default. */
      readonly testValue: unknown
      /** The text on the command line for `testValue`. Default: the same text. */
      readonly testArgument?: string
      /** The least number that the chart accepts. */
      readonly minimum?: number
      /** Present: a hand-written template of the chart sets the flag, which needs more than a copy. */
      readonly template?: 'handwritten'
    }
  /** The reason why no value of the chart sets the flag. Users pass such a flag by `additionalArgs`. */
  | { readonly notInChartBecause: string }

/** The type of a flag's value: a union of the choices for type `choice`, otherwise the type in `FlagValues`. */
type ValueOf<F extends Flag> = F extends { type: 'choice'; choices: readonly (infer W)[] } ? W : FlagValues[F['type']]

/** The values of all flags of a table, set or default. */
export interface Flags<T extends FlagTable> {
  readonly values: { readonly [F in T[number] as F['name']]: ValueOf<F> }
  /** The flags on the command line, even with their default values. */
  readonly explicitFlags: ReadonlySet<T[number]['name']>
}

/** The reason why a command line is refused. */
export interface RefusedFlags {
  readonly kind: 'refused'
  /** The error text of Go. */
  readonly error: string
  /** The known flag that is nearest to an unknown flag. */
  readonly nearest?: string
}

/** The result of parsing. `help` ends with the usage and exit code 0, `refused` with the error and exit code 2. */
export type ParsedFlags<T extends FlagTable> =
  | { readonly kind: 'flags'; readonly flags: Flags<T> }
  | { readonly kind: 'help' }
  | RefusedFlags

/**
 * Reads arguments like Go's `flag`: `-f=v --f=v -f v --f v`, booleans only with `=`, the last value wins, maps merge.
 * Parsing ends at the first argument that is not a flag, at `-` and after `--`.
 */
export function parseFlags<const T extends FlagTable>(table: T, args: readonly string[]): ParsedFlags<T> {
  const reader = new GoFlagReader(table)
  for (let at = 0; at < args.length; ) {
    const step = reader.read(args, at)
    if (step.kind === 'end') break
    if (step.kind !== 'next') return step
    at = step.at
  }
  // The cast is safe: the reader stores a value of the flag's type under the name of each flag in the table.
  return { kind: 'flags', flags: { values: reader.values as Flags<T>['values'], explicitFlags: reader.explicitFlags } }
}

type ReadStep =
  | { readonly kind: 'next'; readonly at: number }
  | { readonly kind: 'end' }
  | { readonly kind: 'help' }
  | RefusedFlags

/** The flags of a command line while it is read. */
export class FlagReader {
  readonly values: Record<string, unknown> = {}
  readonly explicitFlags = new Set<string>()
  /** The flags by their names and aliases. */
  protected readonly flags = new Map<string, Flag>()

  constructor(table: FlagTable) {
    for (const flag of table) {
      this.values[flag.name] = flag.default
      for (const name of [flag.name, ...(flag.aliases ?? [])]) this.flags.set(name, flag)
    }
  }

  /** Sets the value of a flag. Throws an error for an invalid text. */
  protected setFlag(flag: Flag, text: string): void {
    const before = this.explicitFlags.has(flag.name) ? this.values[flag.name] : undefined
    // The cast is safe, because the value in `before` was read by the same entry of `FLAG_TYPES`.
    const type = FLAG_TYPES[flag.type] as FlagType<unknown>
    this.values[flag.name] = type.parse(text, before, flag.choices ?? [])
    this.explicitFlags.add(flag.name)
  }

  protected refuseUnknown(name: string, error: string): RefusedFlags {
    const nearest = nearestFlag(name, this.flags.keys())
    return { ...refused(error), ...(nearest !== undefined && { nearest }) }
  }
}

class GoFlagReader extends FlagReader {
  /** Reads the flag at `at`, and its value if that is a separate argument. */
  read(args: readonly string[], at: number): ReadStep {
    const argument = args[at] ?? ''
    if (argument.length < 2 || !argument.startsWith('-') || argument === '--') return { kind: 'end' }
    const body = argument.slice(argument.startsWith('--') ? 2 : 1)
    if (/^[-=]/.test(body)) return refused(`bad flag syntax: ${argument}`)
    const equals = body.indexOf('=')
    const name = equals < 0 ? body : body.slice(0, equals)
    const flag = this.flags.get(name)
    if (flag === undefined) {
      if (name === 'help' || name === 'h') return { kind: 'help' }
      return this.refuseUnknown(name, `flag provided but not defined: -${name}`)
    }
    let next = at + 1
    let text = equals < 0 ? undefined : body.slice(equals + 1)
    if (text === undefined && FLAG_TYPES[flag.type].isBoolean === true) text = 'true'
    if (text === undefined) {
      text = args[next]
      next += 1
    }
    if (text === undefined) return refused(`flag needs an argument: -${name}`)
    try {
      this.setFlag(flag, text)
    } catch (error) {
      const isBoolean = FLAG_TYPES[flag.type].isBoolean === true
      const subject = isBoolean ? `boolean value ${goQuote(text)} for` : `value ${goQuote(text)} for flag`
      return refused(`invalid ${subject} -${name}: ${messageOf(error)}`)
    }
    return { kind: 'next', at: next }
  }
}

export const refused = (error: string): RefusedFlags => ({ kind: 'refused', error })
