import type { PlanFinding } from './finding.ts'
import type { EffectiveFlags } from './flags/check-flags.ts'
import type { GrantedRule } from './rights/granted.ts'
import { missingRights } from './rights/missing.ts'
import { neededRights } from './rights/needed.ts'
import { type ClassesOfDriver, readsAllSecrets, secretsOf, unreadableSecrets } from './rights/secrets.ts'
import type { SidecarName } from './sidecars.ts'

interface SidecarWithFlags {
  readonly sidecar: SidecarName
  readonly effective: EffectiveFlags
}

interface RightsFacts extends ClassesOfDriver {
  readonly workload: { readonly namespace: string }
  readonly granted: readonly GrantedRule[] | { readonly why: string }
  readonly driverName: string | undefined
}

/** Returns the findings about rights that our sidecars need and the service account lacks. */
export function rightsFindings(sidecars: readonly SidecarWithFlags[], facts: RightsFacts): readonly PlanFinding[] {
  const controllers = sidecars.filter(({ sidecar }) => sidecar !== 'livenessprobe')
  if (controllers.length === 0) return []
  const { granted } = facts
  if ('why' in granted) return [{ kind: 'rightsNotExamined', why: granted.why }]
  const needed = controllers.flatMap(({ sidecar, effective }) => neededRights(sidecar, effective, facts.workload))
  const names = controllers.map(({ sidecar }) => sidecar)
  const missing = missingRights(needed, granted, leaseNames(names, facts.driverName))
  return [
    ...missing.map((right) => ({ kind: 'missingRight', right }) as const),
    ...secretFindings(names, granted, facts),
  ]
}

function secretFindings(
  sidecars: readonly SidecarName[],
  granted: readonly GrantedRule[],
  { driverName, ...classes }: RightsFacts,
): readonly PlanFinding[] {
  if (driverName === undefined) return [{ kind: 'unknownDriver' }]
  const named = secretsOf(sidecars, classes, driverName)
  const findings = [...unreadableSecrets(named, granted)].map(
    ([namespace, names]) => ({ kind: 'missingSecrets', namespace, names }) as const,
  )
  const readsAll = readsAllSecrets(granted)
  return [
    ...findings,
    ...(named.templated.length > 0 && !readsAll
      ? [{ kind: 'templatedSecrets', classes: named.templated } as const]
      : []),
    ...(readsAll && named.templated.length === 0
      ? [{ kind: 'allSecrets', byNamespace: Object.fromEntries(named.byNamespace) } as const]
      : []),
  ]
}

const LEASE_PREFIXES: Readonly<Record<SidecarName, string | undefined>> = {
  attacher: 'external-attacher-leader-',
  resizer: 'external-resizer-',
  provisioner: '',
  snapshotter: 'external-snapshotter-leader-',
  livenessprobe: undefined,
}

/** Returns the names of the Leases of a driver. Empty if its name is not known. */
export function leaseNames(sidecars: readonly SidecarName[], driverName: string | undefined): readonly string[] {
  if (driverName === undefined) return []
  const driver = driverName.replace(/[^A-Za-z0-9-]/g, '-')
  return sidecars.flatMap((sidecar) => {
    const prefix = LEASE_PREFIXES[sidecar]
    return prefix === undefined ? [] : [`${prefix}${driver}`]
  })
}
