import { isJsonObject, type JsonObject } from './meta.ts'
import type { PersistentVolumeClaimCondition, PersistentVolumeClaimStatus, PersistentVolumeSpec } from './objects.ts'
import { mergePatchOf, type Patch } from './patch.ts'

type Annotations = { readonly [key: string]: string }

/** The fields of a PersistentVolumeClaim that a status patch may change. */
export interface ClaimPatchParts {
  readonly metadata?: { readonly annotations?: Annotations | undefined } | undefined
  readonly status?: PersistentVolumeClaimStatus | undefined
}

/** The fields of a PersistentVolume that a sidecar may change. */
export interface VolumePatchParts {
  readonly metadata?: { readonly annotations?: Annotations | undefined } | undefined
  readonly spec?: Pick<PersistentVolumeSpec, 'capacity' | 'volumeAttributesClassName'> | undefined
}

/** The state of the object that a patch requires. */
export interface PatchGuard {
  /** The UID of the object. The API server refuses the patch for a recreated object of the same name. */
  readonly uid?: string | undefined
  /** The object's version. The API server refuses the patch of a changed object. */
  readonly resourceVersion?: string | undefined
}

/**
 * Returns a patch that changes the annotations and the status of a claim from `before` to `after`. It removes map
 * entries and conditions one by one, because other clients may have added entries since `before` was read.
 */
export function claimStatusPatch(before: ClaimPatchParts, after: ClaimPatchParts, guard: PatchGuard = {}): Patch {
  const metadata = { ...guardFields(guard), ...annotationChanges(before, after) }
  const { conditions: had = [], ...statusBefore } = before.status ?? {}
  const { conditions: desired = [], ...statusAfter } = after.status ?? {}
  const status = {
    ...mergePatchOf(withMaps(statusBefore), withMaps(statusAfter)),
    ...conditionChanges(had, desired),
  }
  return { kind: 'strategic', body: withoutEmpty({ metadata, status }) }
}

/** Returns a patch that changes the annotations, the capacity and the class of a volume, and nothing else. */
export function volumePatch(before: VolumePatchParts, after: VolumePatchParts, guard: PatchGuard = {}): Patch {
  const metadata = { ...guardFields(guard), ...annotationChanges(before, after) }
  const spec = mergePatchOf(changeable(before), changeable(after))
  return { kind: 'strategic', body: withoutEmpty({ metadata, spec }) }
}

function guardFields({ uid, resourceVersion }: PatchGuard): JsonObject {
  return withoutEmpty({ uid, resourceVersion })
}

function changeable({ spec }: VolumePatchParts): JsonObject {
  const { capacity, volumeAttributesClassName } = spec ?? {}
  return { capacity: capacity ?? {}, volumeAttributesClassName }
}

/** Returns the status with an empty map for each absent map, so that the patch names each removed entry. */
function withMaps(status: Omit<PersistentVolumeClaimStatus, 'conditions'>): JsonObject {
  const { capacity, allocatedResources, allocatedResourceStatuses, ...others } = status
  return {
    ...others,
    capacity: capacity ?? {},
    allocatedResources: allocatedResources ?? {},
    allocatedResourceStatuses: allocatedResourceStatuses ?? {},
  }
}

function annotationChanges(
  before: Pick<ClaimPatchParts, 'metadata'>,
  after: Pick<ClaimPatchParts, 'metadata'>,
): JsonObject {
  return mergePatchOf(
    { annotations: before.metadata?.annotations ?? {} },
    { annotations: after.metadata?.annotations ?? {} },
  )
}

function conditionChanges(
  before: readonly PersistentVolumeClaimCondition[],
  after: readonly PersistentVolumeClaimCondition[],
): JsonObject {
  if (before.length === 0) return after.length === 0 ? {} : { conditions: after }
  const had = new Map(before.map((condition) => [condition.type, condition]))
  const desired = new Set(after.map(({ type }) => type))
  const changed = after.flatMap((condition) => conditionChange(had.get(condition.type), condition))
  const deletions = before.filter(({ type }) => !desired.has(type)).map(({ type }) => ({ $patch: 'delete', type }))
  const sameOrder = before.length === after.length && before.every(({ type }, index) => type === after[index]?.type)
  const conditions = [...changed, ...deletions]
  if (conditions.length === 0 && sameOrder) return {}
  return {
    ...(after.length > 0 && { '$setElementOrder/conditions': after.map(({ type }) => ({ type })) }),
    ...(conditions.length > 0 && { conditions }),
  }
}

function conditionChange(
  before: PersistentVolumeClaimCondition | undefined,
  after: PersistentVolumeClaimCondition,
): object[] {
  if (before === undefined) return [after]
  const change = mergePatchOf(before, after)
  return Object.keys(change).length > 0 ? [{ type: after.type, ...change }] : []
}

/** Returns the body without absent fields and empty maps. */
function withoutEmpty(object: object): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(
      ([, value]) => value !== undefined && !(isJsonObject(value) && Object.keys(value).length === 0),
    ),
  )
}
