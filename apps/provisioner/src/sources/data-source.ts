import { namespacedRef } from '@csi-sidecars/kube-types'
import { CLAIM_KIND, type ProvisionerClaim, SNAPSHOT_GROUP, SNAPSHOT_KIND } from '../caches/claim.ts'
import { ProvisionError } from '../request/failure.ts'
import type { ClaimWakeEvent } from '../request/wake-events.ts'

/** The object that a claim is filled from. */
export interface ClaimSource {
  readonly kind: typeof SNAPSHOT_KIND | typeof CLAIM_KIND
  readonly namespace: string
  readonly name: string
}

/** Thrown for a kind of data source that another controller, a volume populator, handles. */
export class PopulatorError extends Error {
  override readonly name = 'PopulatorError'

  constructor(kind: string) {
    super(`data source (${kind}) is not handled by the provisioner, assuming an external populator will provision it`)
  }
}

/** Reports whether a volume populator creates the volume of the claim. */
export function hasPopulator({ requestedVolume }: ProvisionerClaim): boolean {
  const source = requestedVolume?.dataSource ?? requestedVolume?.dataSourceRef
  return source !== undefined && source.kind !== SNAPSHOT_KIND && source.kind !== CLAIM_KIND
}

/** Returns the data source of a claim. Undefined: none. Throws ProvisionError, and PopulatorError for other kinds. */
export function sourceOf(claim: ProvisionerClaim): ClaimSource | undefined {
  const { dataSource, dataSourceRef } = claim.requestedVolume ?? {}
  if (dataSource === undefined && dataSourceRef?.namespace) {
    throw new ProvisionError(
      'dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature is disabled',
    )
  }
  const source = dataSource ?? dataSourceRef
  if (source === undefined) return undefined
  const { namespace, name: claimName } = namespacedRef(claim.key)
  const { kind, name, apiGroup } = source
  if (name === '') throw new ProvisionError(`the PVC source not found for PVC ${claimName}`)
  if (kind === SNAPSHOT_KIND) {
    const group = apiGroup ?? ''
    if (group !== SNAPSHOT_GROUP) {
      const groups = `Expected ${SNAPSHOT_GROUP}, Got ${group}`
      throw new ProvisionError(`the PVC source does not belong to the right APIGroup. ${groups}`)
    }
    return { kind, namespace, name }
  }
  if (kind === CLAIM_KIND) return { kind, namespace, name }
  throw new PopulatorError(kind)
}

/** Returns the error for a data source that cannot be used now. The claim then waits for a change of the source. */
export function sourceError(
  { kind, namespace, name }: ClaimSource,
  why: string,
  { cause, waitsFor = [] }: { readonly cause?: unknown; readonly waitsFor?: readonly ClaimWakeEvent[] } = {},
): ProvisionError {
  const wake = kind === 'VolumeSnapshot' ? 'snapshot' : 'claim'
  const message = `error getting handle for DataSource Type ${kind} by Name ${name}: ${why}`
  return new ProvisionError(message, { cause, waitsFor: [{ kind: wake, name: `${namespace}/${name}` }, ...waitsFor] })
}
