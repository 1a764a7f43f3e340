import {
  type FlagTable,
  parseFlags,
  parsePFlags,
  resolveGates,
  STANDARD_FLAGS,
} from '@csi-sidecars/sidecar/command-line'
import { expanded, type LiteralVariables } from '../containers/command.ts'
import type { KnownSidecar } from '../sidecars.ts'
import { type Argument, argumentsOf } from './arguments.ts'

/** An argument that our sidecar accepts with a warning, or refuses. */
export interface RemarkedArgument {
  readonly argument: string
  readonly why: string
}

/** The command line of a Go sidecar, as our sidecar reads it. */
export interface CheckedFlags {
  /** Arguments with the meaning that they have for the current Go sidecar. */
  readonly kept: readonly string[]
  readonly warned: readonly RemarkedArgument[]
  readonly refused: readonly RemarkedArgument[]
  /** The command line, word by word, without refused flags and gates. */
  readonly accepted: readonly string[]
  /** The accepted flags in their order, each with its value. */
  readonly flags: readonly AcceptedFlag[]
}

export type AcceptedFlag = Argument & { readonly kind: 'flag' }

/** The flags of a sidecar with their effective values: the last one counts, and gates are merged. */
export interface EffectiveFlags {
  /** The text of a flag. Undefined if the flag is not given. Aliases count as their flag. */
  readonly values: ReadonlyMap<string, string>
  readonly gates: ReadonlyMap<string, boolean>
}

/** Returns the flags that a sidecar accepts if it runs alone. */
export function tableOf({ flags, usedStandardFlags }: KnownSidecar): FlagTable {
  const standard = STANDARD_FLAGS.filter(
    ({ name }) =>
      usedStandardFlags === undefined || usedStandardFlags.needsPrefix.has(name) || usedStandardFlags.shared.has(name),
  )
  return [...standard, ...flags]
}

/** Checks each argument of a Go sidecar for our sidecar. `variables` are those of the container. */
export function checkFlags(
  sidecar: KnownSidecar,
  args: readonly string[],
  variables: LiteralVariables = new Map(),
): CheckedFlags {
  const checked = { kept: [] as string[], warned: [] as RemarkedArgument[], refused: [] as RemarkedArgument[] }
  const accepted: string[] = []
  const flags: AcceptedFlag[] = []
  for (const argument of argumentsOf(args, { table: tableOf(sidecar), syntax: sidecar.syntax })) {
    const text = argument.written.join(' ')
    const verdict = verdictOf(sidecar, argument, variables)
    for (const { part = text, why } of verdict.warnings) checked.warned.push({ argument: part, why })
    for (const { part = text, why } of verdict.refusals) checked.refused.push({ argument: part, why })
    if (verdict.warnings.length === 0 && verdict.refusals.length === 0) checked.kept.push(text)
    accepted.push(...verdict.args)
    if (verdict.flag !== undefined) flags.push(verdict.flag)
  }
  return { ...checked, accepted, flags }
}

interface Reason {
  /** The part of the argument, such as one of several gates. Undefined: the whole argument. */
  readonly part?: string
  readonly why: string
}

interface Verdict {
  readonly warnings: readonly Reason[]
  readonly refusals: readonly Reason[]
  /** The words to keep on the command line. */
  readonly args: readonly string[]
  readonly flag?: AcceptedFlag
}

function verdictOf(sidecar: KnownSidecar, argument: Argument, variables: LiteralVariables): Verdict {
  const args = argument.written
  switch (argument.kind) {
    case 'word':
      return { warnings: [{ why: 'it is no flag, and has no effect' }], refusals: [], args }
    case 'removed':
      return { warnings: [{ why: 'the flag was removed, and has no effect' }], refusals: [], args }
    case 'unknown':
      return { warnings: [], refusals: [{ why: 'the current Go sidecar does not know it either' }], args: [] }
    case 'flag':
      return flagVerdict(sidecar, argument, variables)
    default:
      return argument satisfies never
  }
}

function flagVerdict(sidecar: KnownSidecar, argument: AcceptedFlag, variables: LiteralVariables): Verdict {
  const args = argument.written
  const { flag, removedName } = argument
  const warnings =
    removedName === undefined ? [] : [{ why: `--${removedName} was removed, and is read as --${flag.name}` }]
  const value = expanded(argument.value, variables)
  // A value that only the running pod knows is accepted, because the Go sidecar accepts it as well.
  if (value === undefined) return { warnings, refusals: [], args, flag: argument }
  const error = refusalOf(sidecar, flag.name, value)
  if (error !== undefined) return { warnings, refusals: [{ why: error }], args: [] }
  if (flag.type !== 'gates') return { warnings, refusals: [], args, flag: argument }
  const gates = gateVerdicts(sidecar, value)
  const refusals = gates.flatMap(({ refusal }) => refusal ?? [])
  const kept = gates.filter(({ refusal }) => refusal === undefined).map(({ text }) => text)
  const all = [...warnings, ...gates.flatMap(({ warning }) => warning ?? [])]
  if (refusals.length === 0) return { warnings: all, refusals, args, flag: argument }
  if (kept.length === 0) return { warnings: all, refusals, args: [] }
  const repaired = kept.join(',')
  const written = [`--${flag.name}=${repaired}`]
  return { warnings: all, refusals, args: written, flag: { ...argument, value: repaired, written } }
}

function refusalOf(sidecar: KnownSidecar, name: string, value: string): string | undefined {
  const parse = sidecar.syntax === 'pflag' ? parsePFlags : parseFlags
  const word = name === 'v' ? `-v=${value}` : `--${name}=${value}`
  const parsed = parse(tableOf(sidecar), [word])
  return parsed.kind === 'refused' ? parsed.error : undefined
}

interface GateVerdict {
  readonly text: string
  readonly warning?: Reason
  readonly refusal?: Reason
}

function gateVerdicts({ gates }: KnownSidecar, value: string): readonly GateVerdict[] {
  const table = gates ?? { sidecarGates: {}, permanent: {} }
  return [...gatesIn(value)].map(([name, isOn]): GateVerdict => {
    const text = `${name}=${isOn}`
    const resolution = resolveGates(table, new Map([[name, isOn]]))
    const flag = `--feature-gates=${text}`
    if (resolution.kind === 'refused') return { text, refusal: { part: flag, why: resolution.error } }
    const [notice] = resolution.notices
    return notice === undefined ? { text } : { text, warning: { part: flag, why: warningText(notice.message) } }
  })
}

/** Returns the log message without its start `Warning: `, so that it continues a sentence. */
function warningText(message: string): string {
  const text = message.replace(/^Warning: /, '').replace(/\.$/, '')
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`
}

/** Returns the gates in a value of `--feature-gates`. The value must be valid. */
export function gatesIn(value: string): ReadonlyMap<string, boolean> {
  const parsed = parseFlags(STANDARD_FLAGS, [`--feature-gates=${value}`])
  return parsed.kind === 'flags' ? parsed.flags.values['feature-gates'] : new Map()
}

export function effectiveFlags(flags: readonly AcceptedFlag[], variables: LiteralVariables): EffectiveFlags {
  const values = new Map<string, string>()
  const gates = new Map<string, boolean>()
  for (const { flag, value } of flags) {
    const text = expanded(value, variables) ?? value
    values.set(flag.name, text)
    if (flag.type === 'gates') for (const [name, isOn] of gatesIn(text)) gates.set(name, isOn)
  }
  return { values, gates }
}

/** Reports whether a switch is on. */
export function isOn({ values }: EffectiveFlags, flag: string, byDefault: boolean): boolean {
  const value = values.get(flag)
  return value === undefined ? byDefault : /^(?:1|t|T|TRUE|true|True)$/.test(value)
}
