import { isMigratedCSIDriverByName } from '@csi-sidecars/csi-translation'
import {
  type Condition,
  changesAfter,
  compareVersions,
  OLDEST_EXAMINED,
  parseVersion,
  type SidecarName,
  type SwapChange,
} from '@csi-sidecars/swap-changes'

/** Facts that decide whether a change concerns an installation. Undefined: not known. */
export interface ChangeFacts {
  /** The names of the given flags, with those that no current sidecar has. */
  readonly flags: ReadonlySet<string>
  readonly gates: ReadonlyMap<string, boolean>
  readonly driverName: string | undefined
  /** The version of the API server, such as `1.34`. */
  readonly kubernetes: string | undefined
}

/** A change that concerns the installation, or that may concern it. */
export interface FoundChange {
  readonly change: SwapChange
  /** The conditions that the command cannot test. Empty: the change certainly concerns the installation. */
  readonly untested: readonly Condition[]
}

export interface FoundChanges {
  readonly changes: readonly FoundChange[]
  /** False: the version is older than the examined ones, or is unknown. */
  readonly isComplete: boolean
}

/** Returns the changes since a version of a Go sidecar. Without a version: since the oldest examined version. */
export function changesSince(sidecar: SidecarName, version: string | undefined, facts: ChangeFacts): FoundChanges {
  const { kind, changes } = changesAfter(sidecar, version ?? OLDEST_EXAMINED[sidecar])
  const found = changes.flatMap((change): readonly FoundChange[] => {
    const answers = change.conditions.map((condition) => ({ condition, holds: holds(condition, facts) }))
    if (answers.some(({ holds }) => holds === false)) return []
    return [{ change, untested: answers.flatMap(({ condition, holds }) => (holds === undefined ? [condition] : [])) }]
  })
  return { changes: found, isComplete: kind === 'examined' && version !== undefined }
}

/** Reports whether a condition holds. Undefined: the facts do not say it. */
function holds(condition: Condition, { flags, gates, driverName, kubernetes }: ChangeFacts): boolean | undefined {
  switch (condition.kind) {
    case 'flag-given':
      return condition.flags.some((flag) => flags.has(flag))
    case 'flag-not-given':
      return !flags.has(condition.flag)
    case 'gate-given':
      return condition.value === undefined ? gates.has(condition.gate) : gates.get(condition.gate) === condition.value
    case 'gate-not-given':
      return !gates.has(condition.gate)
    case 'migrated-driver':
      return driverName === undefined ? undefined : isMigratedCSIDriverByName(driverName)
    case 'kubernetes-below':
      return isBelow(kubernetes, condition.version)
    case 'capability':
    case 'resource':
      return undefined
    default:
      return condition satisfies never
  }
}

function isBelow(kubernetes: string | undefined, version: string): boolean | undefined {
  const [running, limit] = [parseVersion(kubernetes ?? ''), parseVersion(version)]
  return running === undefined || limit === undefined ? undefined : compareVersions(running, limit) < 0
}

const GATES = '--feature-gates='

/**
 * Returns the arguments that keep the behaviour of the older version. A change that users only see, without anything to
 * do, adds no argument. Gates become one argument.
 */
export function keepingArguments(changes: readonly FoundChange[]): readonly string[] {
  const kept = new Set(changes.flatMap(({ change }) => (isWorthKeeping(change) ? [change.keep.argument] : [])))
  const gates = [...kept].flatMap((argument) => (argument.startsWith(GATES) ? [argument.slice(GATES.length)] : []))
  const others = [...kept].filter((argument) => !argument.startsWith(GATES))
  return gates.length === 0 ? others : [...others, `${GATES}${gates.join(',')}`]
}

type KeptByArgument = SwapChange & { readonly keep: { readonly kind: 'argument' } }

/** Reports whether the patches add the argument that keeps the behaviour before the change. */
export function isWorthKeeping(change: SwapChange): change is KeptByArgument {
  return change.keep.kind === 'argument' && change.weight !== 'note'
}
