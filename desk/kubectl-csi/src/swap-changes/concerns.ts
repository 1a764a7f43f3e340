import type { SwapChange, SwapCondition } from './change.ts'
import { compareVersions, parseVersion } from './version.ts'

/** The known facts about an installation. A missing field means: unknown. */
export interface Facts {
  /** The names of the flags on the command line of the sidecar, without dashes. */
  readonly flags?: ReadonlySet<string>
  /** The gates that `--feature-gates` sets. */
  readonly gates?: ReadonlyMap<string, boolean>
  /** The names of the capabilities of the driver, as in CSI. */
  readonly capabilities?: ReadonlySet<string>
  /** The version of the API server. */
  readonly kubernetes?: string
  /** True if the driver replaces an in-tree plugin. */
  readonly migrated?: boolean
  /** The plural names of the resources that the API server serves. */
  readonly resources?: ReadonlySet<string>
}

/** Reports whether a change concerns an installation: `unknown` if a fact is missing and no other condition fails. */
export function concerns({ conditions }: SwapChange, facts: Facts): 'yes' | 'no' | 'unknown' {
  const results = conditions.map((condition) => holds(condition, facts))
  if (results.includes(false)) return 'no'
  return results.includes(undefined) ? 'unknown' : 'yes'
}

function holds(condition: SwapCondition, { flags, gates, capabilities, kubernetes, migrated, resources }: Facts) {
  switch (condition.kind) {
    case 'flag-given':
      return flags && condition.flags.some((flag) => flags.has(flag))
    case 'flag-not-given':
      return flags && !flags.has(condition.flag)
    case 'gate-given': {
      const { gate, value } = condition
      return gates?.has(gate) && (value === undefined || gates.get(gate) === value)
    }
    case 'gate-not-given':
      return gates && !gates.has(condition.gate)
    case 'capability':
      return capabilities?.has(condition.capability)
    case 'kubernetes-below':
      return kubernetes === undefined ? undefined : isBelow(kubernetes, condition.version)
    case 'migrated-driver':
      return migrated
    case 'resource':
      return resources?.has(condition.resource)
    default:
      return condition satisfies never
  }
}

/** Compares minor versions, so that a build suffix or a patch version does not matter. Undefined: not comparable. */
function isBelow(server: string, version: string): boolean | undefined {
  const [one, other] = [parseVersion(server), parseVersion(version)]
  return one && other && compareVersions([one[0], one[1], 0], other) < 0
}
