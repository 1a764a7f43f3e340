import type { PersistentVolumeClaimCondition, PersistentVolumeClaimStatus, PersistentVolumeSpec } from './core.ts'
import { isJsonObject, type JsonObject } from './json.ts'
import { mergePatchOf } from './merge-patch.ts'
import type { Patch } from './patch.ts'

type Annotations = { readonly [key: string]: string }

/** What a status patch of a claim may change. A whole claim fits. */
export interface ClaimParts {
  readonly metadata?: { readonly annotations?: Annotations | undefined } | undefined
  readonly status?: PersistentVolumeClaimStatus | undefined
}

/** What a sidecar changes in a volume. A whole volume fits. */
export interface VolumeParts {
  readonly metadata?: { readonly annotations?: Annotations | undefined } | undefined
  readonly spec?: Pick<PersistentVolumeSpec, 'capacity' | 'volumeAttributesClassName'> | undefined
}

/**
 * Turns `before` into `after`: annotations and status, by the API's rules for the kind.
 * Conditions merge by type, so that others' stay whatever happened to them meanwhile; a map or list that ends up empty
 * is removed. With a resourceVersion the server refuses the patch once the claim has changed.
 */
export function claimStatusPatch(
  before: ClaimParts,
  after: ClaimParts,
  options: { readonly resourceVersion?: string | undefined } = {},
): Patch {
  const metadata = {
    ...(options.resourceVersion !== undefined && { resourceVersion: options.resourceVersion }),
    ...annotationChanges(before, after),
  }
  const { conditions: had = [], ...statusBefore } = before.status ?? {}
  const { conditions: wanted = [], ...statusAfter } = after.status ?? {}
  const status = {
    ...mergePatchOf(withoutEmpty(statusBefore), withoutEmpty(statusAfter)),
    ...conditionChanges(had, wanted),
  }
  return { kind: 'strategic', body: withoutEmpty({ metadata, status }) }
}

/** Turns `before` into `after`: annotations, capacity and class, nothing else. */
export function volumePatch(before: VolumeParts, after: VolumeParts): Patch {
  const metadata = annotationChanges(before, after)
  const spec = mergePatchOf(changeable(before), changeable(after))
  return { kind: 'strategic', body: withoutEmpty({ metadata, spec }) }
}

function changeable({ spec }: VolumeParts): JsonObject {
  const { capacity, volumeAttributesClassName } = spec ?? {}
  return withoutEmpty({ capacity, volumeAttributesClassName })
}

function annotationChanges(before: Pick<ClaimParts, 'metadata'>, after: Pick<ClaimParts, 'metadata'>): JsonObject {
  return mergePatchOf(
    withoutEmpty({ annotations: before.metadata?.annotations }),
    withoutEmpty({ annotations: after.metadata?.annotations }),
  )
}

function conditionChanges(
  before: readonly PersistentVolumeClaimCondition[],
  after: readonly PersistentVolumeClaimCondition[],
): JsonObject {
  if (before.length === 0) return after.length === 0 ? {} : { conditions: after }
  if (after.length === 0) return { conditions: null }
  const had = new Map(before.map((condition) => [condition.type, condition]))
  const wanted = new Set(after.map(({ type }) => type))
  const changed = after.flatMap((condition) => conditionChange(had.get(condition.type), condition))
  const removed = before.filter(({ type }) => !wanted.has(type)).map(({ type }) => ({ $patch: 'delete', type }))
  const sameOrder = before.length === after.length && before.every(({ type }, index) => type === after[index]?.type)
  const conditions = [...changed, ...removed]
  if (conditions.length === 0 && sameOrder) return {}
  return {
    '$setElementOrder/conditions': after.map(({ type }) => ({ type })),
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

/** Without the fields that the API drops as well: absent ones and empty maps. */
function withoutEmpty(object: object): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(
      ([, value]) => value !== undefined && !(isJsonObject(value) && Object.keys(value).length === 0),
    ),
  )
}
