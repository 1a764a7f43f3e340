import {
  changesAfter,
  concerns,
  type Facts,
  OLDEST_EXAMINED,
  type SidecarName,
  type SwapChange,
  type SwapCondition,
} from '../../swap-changes/index.ts'

/** A change that concerns the installation, or that may concern it. */
export interface FoundChange {
  readonly change: SwapChange
  /** The conditions that the command cannot test. Empty: the change certainly concerns the installation. */
  readonly untested: readonly SwapCondition[]
}

/** The changes between the version in the cluster and ours that concern an installation. */
export interface FoundChanges {
  readonly changes: readonly FoundChange[]
  /** False: the version is older than the examined ones, or is unknown. */
  readonly isComplete: boolean
}

/** Returns the changes since a version of a Go sidecar. Without a version: since the oldest examined version. */
export function changesSince(sidecar: SidecarName, version: string | undefined, facts: Facts): FoundChanges {
  const { kind, changes } = changesAfter(sidecar, version ?? OLDEST_EXAMINED[sidecar])
  const found = changes.flatMap((change): readonly FoundChange[] => {
    if (concerns(change, facts) === 'no') return []
    const untested = change.conditions.filter(
      (condition) => concerns({ ...change, conditions: [condition] }, facts) === 'unknown',
    )
    return [{ change, untested }]
  })
  return { changes: found, isComplete: kind === 'examined' && version !== undefined }
}

const GATES = '--feature-gates='

/**
 * Returns the arguments that keep the behaviour of the older version. A change that users only see, without anything to
 * do, adds no argument. Gates become one argument.
 */
export function keepingArguments(changes: readonly FoundChange[]): readonly string[] {
  const kept = new Set(changes.flatMap(({ change }) => (isWorthKeeping(change) ? [change.restoration.argument] : [])))
  const gates = [...kept].flatMap((argument) => (argument.startsWith(GATES) ? [argument.slice(GATES.length)] : []))
  const others = [...kept].filter((argument) => !argument.startsWith(GATES))
  return gates.length === 0 ? others : [...others, `${GATES}${gates.join(',')}`]
}

type KeptByArgument = SwapChange & { readonly restoration: { readonly kind: 'argument' } }

/** Reports whether the patches add the argument that keeps the behaviour before the change. */
export function isWorthKeeping(change: SwapChange): change is KeptByArgument {
  return change.restoration.kind === 'argument' && change.weight !== 'note'
}
