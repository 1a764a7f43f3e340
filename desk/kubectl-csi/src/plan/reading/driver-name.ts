import type { CSIDriver, Lease } from '@csi-sidecars/kube-types'
import { expanded, variablesOf } from '../containers/command.ts'
import { leaseNames } from '../rights-findings.ts'
import { SIDECAR_NAMES } from '../sidecars.ts'
import { runningContainers, type Workload } from '../workload.ts'

interface DriverHints {
  readonly csiDrivers: readonly CSIDriver[]
  /** The Leases in the namespace of the pod. */
  readonly leases: readonly Lease[]
}

/** The flags with which drivers and plugins get the name of the driver. */
const NAME_FLAG = /^--?(?:driver-?name|csi-name|drivername|csi-driver-name)=(.{1,253})$/

/**
 * Returns the name of the driver of a workload: by the Leases that its pods hold, by a flag of the driver, or because it
 * is the only CSIDriver. Undefined if none of them is certain.
 */
export function driverNameOf(workload: Workload, { csiDrivers, leases }: DriverHints): string | undefined {
  const names = csiDrivers.flatMap(({ metadata }) => metadata?.name ?? [])
  const heldLeases = new Set(
    leases
      .filter(({ spec }) => spec?.holderIdentity?.startsWith(`${workload.name}-`) === true)
      .flatMap(({ metadata }) => metadata?.name ?? []),
  )
  const holding = names.filter((name) => leaseNames(SIDECAR_NAMES, name).some((lease) => heldLeases.has(lease)))
  const [byLease, ...others] = holding
  if (byLease !== undefined && others.length === 0) return byLease
  const flagged = nameInFlags(workload)
  if (flagged !== undefined) return flagged
  const [only, ...more] = names
  return more.length === 0 ? only : undefined
}

function nameInFlags({ pod }: Workload): string | undefined {
  const found = runningContainers(pod).flatMap(({ container }) => {
    const variables = variablesOf(container)
    return [...(container.command ?? []), ...(container.args ?? [])].flatMap((word) => {
      const name = NAME_FLAG.exec(expanded(word, variables) ?? '')?.[1]
      return name === undefined || name === '' ? [] : [name]
    })
  })
  const [first, ...others] = new Set(found)
  return others.length === 0 ? first : undefined
}
