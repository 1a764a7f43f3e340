import { type GrantedRule, isGranted } from './granted.ts'
import type { NeededRight } from './needed.ts'

/** Returns the needed rights that no rule grants, with the missing verbs only. Equal rights are returned once. */
export function missingRights(
  needed: readonly NeededRight[],
  granted: readonly GrantedRule[],
  leaseNames: readonly string[] = [],
): readonly NeededRight[] {
  const missing = needed.flatMap((right): readonly NeededRight[] => {
    const verbs = right.verbs.filter((verb) => !isAllowed({ ...right, verb }, granted, leaseNames))
    return verbs.length === 0 ? [] : [{ ...right, verbs }]
  })
  return unique(missing)
}

function isAllowed(
  { verb, ...right }: NeededRight & { readonly verb: string },
  granted: readonly GrantedRule[],
  leaseNames: readonly string[],
): boolean {
  const access = { ...right, verb }
  if (isGranted(granted, access)) return true
  // A rule for Leases may name them. A creation has no name that a rule could allow.
  const isLease = right.resource === 'leases' && verb !== 'create' && leaseNames.length > 0
  return isLease && leaseNames.every((name) => isGranted(granted, { ...access, name }))
}

/** Merges rights of the same resource, namespace and reason. */
function unique(rights: readonly NeededRight[]): readonly NeededRight[] {
  const found = new Map<string, NeededRight>()
  for (const right of rights) {
    const key = [right.group, right.resource, right.namespace ?? '', right.onlyFor ?? ''].join(' ')
    const verbs = [...new Set([...(found.get(key)?.verbs ?? []), ...right.verbs])]
    found.set(key, { ...right, verbs })
  }
  // A right that a sidecar always needs is not listed again for another sidecar that needs it sometimes.
  const always = [...found.values()].filter(({ onlyFor }) => onlyFor === undefined)
  return [...found.values()].flatMap((right) => {
    if (right.onlyFor === undefined) return [right]
    const same = always.find(
      ({ group, resource, namespace }) =>
        group === right.group && resource === right.resource && namespace === right.namespace,
    )
    const verbs = right.verbs.filter((verb) => same?.verbs.includes(verb) !== true)
    return verbs.length === 0 ? [] : [{ ...right, verbs }]
  })
}
