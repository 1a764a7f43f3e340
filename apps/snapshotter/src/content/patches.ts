import { PARAMETER_VALUES } from '@csi-sidecars/csi'
import { type Patch, removeFinalizerPatch, rfc3339 } from '@csi-sidecars/kube-types'
import type { Content } from '../caches/content.ts'
import type { ContentNames } from '../caches/names.ts'
import { OutdatedRequestError } from './failure.ts'
import type { ContentKind, DriverSnapshot } from './kinds.ts'

/** The values in the parameters of a creation, to be stored before the call. */
export interface ValuesToRecord {
  readonly record: string
  /** The annotation that the values were chosen from. Undefined if it was absent. */
  readonly replaced: string | undefined
}

/** Returns the patch that adds or removes the annotation being-created. Undefined if nothing changes. */
export function beingCreatedPatch(
  { uid, beingCreated }: Content,
  names: Pick<ContentNames, 'beingCreated'>,
  isPresent: boolean,
): Patch | undefined {
  if (beingCreated === isPresent) return undefined
  const annotations = { [names.beingCreated]: isPresent ? 'yes' : null }
  return { kind: 'merge', body: { metadata: { uid, annotations } } }
}

/**
 * Returns the patch before a creation call that has values in its parameters: it adds the values, and the annotation
 * being-created if `isBeingCreated`. The patch carries the `resourceVersion`. Throws OutdatedRequestError if another
 * process has stored other values since the request was built. Undefined if nothing changes.
 */
export function creationPatch(
  { uid, resourceVersion, beingCreated, parameterValues }: Content,
  names: Pick<ContentNames, 'beingCreated'>,
  { record, replaced, isBeingCreated }: ValuesToRecord & { readonly isBeingCreated: boolean },
): Patch | undefined {
  if (parameterValues !== replaced && parameterValues !== record) {
    throw new OutdatedRequestError(`the annotation ${PARAMETER_VALUES} has changed`)
  }
  const annotations = {
    ...(isBeingCreated && !beingCreated && { [names.beingCreated]: 'yes' }),
    ...(parameterValues !== record && { [PARAMETER_VALUES]: record }),
  }
  if (Object.keys(annotations).length === 0) return undefined
  return { kind: 'merge', body: { metadata: { uid, resourceVersion, annotations } } }
}

/** Returns the patch of status fields. It carries the `resourceVersion`, as the fields depend on the whole status. */
export function statusPatch({ uid, resourceVersion }: Content, fields: object): Patch | undefined {
  if (Object.keys(fields).length === 0) return undefined
  return { kind: 'merge', body: { metadata: { uid, resourceVersion }, status: fields } }
}

export function hasFinalizer({ finalizers }: Content, names: Pick<ContentNames, 'finalizer'>): boolean {
  return finalizers.includes(names.finalizer)
}

/** Returns the patch that removes our finalizer. Undefined if the content lacks it. */
export function finalizerPatch(
  { finalizers, uid }: Content,
  names: Pick<ContentNames, 'finalizer'>,
): Patch | undefined {
  return removeFinalizerPatch(finalizers, names.finalizer, uid)
}

/** Returns the status fields that the driver's answer changes. Stored handles, times and sizes stay. */
export function snapshotStatus(kind: ContentKind, snapshot: DriverSnapshot, { status }: Content): object {
  const { handle, readyToUse } = snapshot
  const becomesReady = readyToUse && status?.ready !== true
  return {
    ...(status?.handle === undefined && { [kind.handleField]: handle }),
    ...(status?.ready !== readyToUse && { readyToUse }),
    ...kind.addedStatus(snapshot, status),
    ...(becomesReady && status?.hasError === true && { error: null }),
  }
}

/** Returns the status fields of a failed creation or check. None if the status has the message. */
export function failureStatus(message: string, nowMs: number, { status }: Content): object {
  if (status?.errorMessage === message) return {}
  return { readyToUse: false, error: { time: rfc3339(nowMs), message } }
}
