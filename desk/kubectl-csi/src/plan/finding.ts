import type { SwapChange, SwapCondition } from '../swap-changes/index.ts'
import type { RemainingProgram } from './containers/identity.ts'
import type { NeededRight } from './rights/needed.ts'
import type { SidecarName } from './sidecars.ts'

/** Something that a user should know before the swap. The text of each kind is in `output/sentences.ts`. */
export type PlanFinding =
  // The containers.
  | {
      readonly kind: 'unknownImage'
      readonly container: string
      readonly image: string
      readonly looksLike: SidecarName
    }
  | {
      readonly kind: 'fork'
      readonly container: string
      readonly image: string
      readonly sidecar: SidecarName
      readonly why: string
    }
  | { readonly kind: 'copy'; readonly container: string; readonly registry: string }
  | { readonly kind: 'unknownVersion'; readonly container: string; readonly image: string }
  | { readonly kind: 'notExamined'; readonly container: string; readonly version: string; readonly oldest: string }
  | { readonly kind: 'otherStarter'; readonly container: string; readonly program: string }
  | { readonly kind: 'remainsGo'; readonly container: string; readonly program: RemainingProgram }
  | { readonly kind: 'livenessprobe'; readonly container: string }
  | { readonly kind: 'alreadyOurs'; readonly container: string; readonly program: string }
  // The flags.
  | { readonly kind: 'warnedFlag'; readonly container: string; readonly argument: string; readonly why: string }
  | { readonly kind: 'refusedFlag'; readonly container: string; readonly argument: string; readonly why: string }
  | {
      readonly kind: 'change'
      readonly container: string
      readonly change: SwapChange
      readonly untested: readonly SwapCondition[]
      /** True: the patches add the argument that keeps the older behaviour. */
      readonly isKept: boolean
    }
  | { readonly kind: 'fipsVariable'; readonly container: string; readonly value: string }
  // The pod.
  | {
      readonly kind: 'lowLimit'
      readonly container: string
      readonly resource: 'memory' | 'cpu'
      readonly limit: string
    }
  | { readonly kind: 'seLinux'; readonly container: string; readonly driver: string }
  | { readonly kind: 'socketOwner'; readonly container: string; readonly driver: string; readonly user: number }
  | { readonly kind: 'nonRootImage'; readonly container: string }
  // The rights.
  | { readonly kind: 'missingRight'; readonly right: NeededRight }
  | { readonly kind: 'missingSecrets'; readonly namespace: string; readonly names: readonly string[] }
  | { readonly kind: 'templatedSecrets'; readonly classes: readonly string[] }
  | { readonly kind: 'allSecrets'; readonly byNamespace: Readonly<Record<string, readonly string[]>> }
  | { readonly kind: 'unknownDriver' }
  | { readonly kind: 'rightsNotExamined'; readonly why: string }
  // The reads.
  | { readonly kind: 'notRead'; readonly what: string; readonly why: string }
  // The patches.
  | { readonly kind: 'notOneProcess'; readonly containers: readonly string[]; readonly why: string }
  | { readonly kind: 'mergedSetting'; readonly container: string; readonly note: string }
  | { readonly kind: 'livenessInProcess'; readonly container: string }
  | { readonly kind: 'writtenByOperator'; readonly owner: string }

/**
 * The weight of a finding. `stop`: the swap fails or loses work unless the user acts. `check`: the user should look.
 * `note`: nothing to do.
 */
export type FindingWeight = 'stop' | 'check' | 'note'

export function weightOf(finding: PlanFinding): FindingWeight {
  switch (finding.kind) {
    case 'change':
      return weightOfChange(finding)
    case 'missingRight':
      return finding.right.onlyFor === undefined ? 'stop' : 'check'
    case 'missingSecrets':
    case 'rightsNotExamined':
      return 'stop'
    case 'unknownImage':
    case 'fork':
    case 'unknownVersion':
    case 'notExamined':
    case 'otherStarter':
    case 'seLinux':
    case 'socketOwner':
    case 'templatedSecrets':
    case 'unknownDriver':
    case 'fipsVariable':
    case 'notRead':
    case 'writtenByOperator':
      return 'check'
    case 'copy':
    case 'remainsGo':
    case 'livenessprobe':
    case 'alreadyOurs':
    case 'warnedFlag':
    case 'refusedFlag':
    case 'lowLimit':
    case 'nonRootImage':
    case 'allSecrets':
    case 'notOneProcess':
    case 'mergedSetting':
    case 'livenessInProcess':
      return 'note'
    default:
      return finding satisfies never
  }
}

/** A change whose older behaviour the patches keep needs no action. */
function weightOfChange({ change, untested, isKept }: PlanFinding & { readonly kind: 'change' }): FindingWeight {
  // The rights of the role are compared with the needed ones, so that such a change is not a finding of its own.
  if (change.weight === 'note' || isKept || change.kind === 'right') return 'note'
  return change.weight === 'danger' && untested.length === 0 ? 'stop' : 'check'
}
