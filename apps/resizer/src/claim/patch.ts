import {
  claimStatusPatch,
  type Patch,
  type PersistentVolumeClaim,
  type PersistentVolumeClaimCondition,
} from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import { NO_NODE_EXPANSION_ANNOTATION } from '../caches/names.ts'

export type Condition = PersistentVolumeClaimCondition

/** The changed fields of a claim. A missing key keeps the field, and the value undefined removes the field. */
export type ClaimChange = {
  readonly [Field in
    | 'capacity'
    | 'allocated'
    | 'sizeStatus'
    | 'conditions'
    | 'noNodeExpansion'
    | 'currentClass'
    | 'modifyVolumeStatus']?: ResizerClaim[Field]
}

/**
 * Builds a patch of the claim's status. If `requireVersion` is true, the API server refuses the patch for a changed
 * claim, by the `resourceVersion`. Otherwise it refuses the patch only for a recreated claim, by the UID.
 */
export function claimPatch(
  claim: ResizerClaim,
  change: ClaimChange,
  { requireVersion }: { requireVersion: boolean },
): Patch {
  const { resourceVersion, uid } = claim
  return claimStatusPatch(
    partsOf(claim),
    partsOf({ ...claim, ...change }),
    requireVersion ? { resourceVersion } : { uid },
  )
}

function partsOf(claim: ResizerClaim): Pick<PersistentVolumeClaim, 'metadata' | 'status'> {
  const annotations = textMap(NO_NODE_EXPANSION_ANNOTATION, claim.noNodeExpansion)
  return { metadata: { annotations }, status: statusOf(claim) }
}

function statusOf(claim: ResizerClaim): NonNullable<PersistentVolumeClaim['status']> {
  const { sizeStatus, otherStatuses, modifyVolumeStatus, currentClass } = claim
  return {
    capacity: textMap('storage', claim.capacity),
    allocatedResources: textMap('storage', claim.allocated),
    allocatedResourceStatuses: { ...otherStatuses, ...textMap('storage', sizeStatus) },
    conditions: claim.conditions,
    currentVolumeAttributesClassName: currentClass || undefined,
    modifyVolumeStatus: modifyVolumeStatus && {
      status: modifyVolumeStatus.status,
      targetVolumeAttributesClassName: modifyVolumeStatus.target || undefined,
    },
  }
}

/** Returns a map with one entry. The map is empty if the value is undefined. */
export function textMap(key: string, value: string | undefined): Record<string, string> {
  return value === undefined ? {} : { [key]: value }
}

/** Returns the list in which this condition replaces the condition of its type, or is added at the end. */
export function withCondition(
  conditions: readonly Condition[] | undefined,
  condition: Condition,
): readonly Condition[] {
  const list = conditions ?? []
  if (!list.some(({ type }) => type === condition.type)) return [...list, condition]
  return list.map((each) => (each.type === condition.type ? condition : each))
}

export function withoutConditions(
  conditions: readonly Condition[] | undefined,
  types: ReadonlySet<string>,
): readonly Condition[] {
  return (conditions ?? []).filter(({ type }) => !types.has(type))
}
