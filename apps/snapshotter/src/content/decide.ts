import { endPlan, next, type PlanCheck, type PlanCheckResult, planOf, type WakeEvent } from '@csi-sidecars/controller'
import { type Content, type SnapshotClass, unclearedHandle } from '../caches/content.ts'
import type { ContentKind } from './kinds.ts'
import { hasFinalizer } from './patches.ts'

/** A snapshot content and all facts that decide its next steps, read at one moment. */
export interface ContentView {
  readonly content: Content
  readonly kind: Pick<ContentKind, 'metadataNames'>
  readonly driverName: string
  /** The snapshot class of the content, if it is cached. */
  readonly snapshotClass: SnapshotClass | undefined
  /** True if this process has deleted the snapshot. */
  readonly driverHasDeleted: boolean
  /** True if this process has left the snapshot to another content that names it. */
  readonly isKeptForOther: boolean
  /** Reports whether another content names the snapshot with this handle. */
  readonly isNamedByOther: (handle: string) => boolean
}

/** The snapshot or group snapshot to delete, and the handles of the snapshots in the group. */
export interface SnapshotDeletion {
  readonly handle: string
  readonly members: readonly string[]
}

/** The phase in which a failure occurs. It decides the reason and the text of the event. */
export type Phase = 'create' | 'check'

export type ContentStep =
  /** Calls CreateSnapshot, which creates the snapshot or returns whether it is ready. */
  | { readonly kind: 'create'; readonly phase: Phase }
  /** Asks the driver about an existing snapshot. */
  | { readonly kind: 'check' }
  /** Waits until the snapshot-controller has written the handles of a group member. */
  | { readonly kind: 'awaitHandles'; readonly waitsFor: WakeEvent<'handles'> }
  /** Removes the annotation being-created. */
  | { readonly kind: 'removeBeingCreated' }
  | DeletionStep

export type DeletionStep =
  | ({ readonly kind: 'delete' } & SnapshotDeletion)
  /** Leaves the snapshot to another content that names it. */
  | { readonly kind: 'keepForOther'; readonly handle: string }
  /** Removes the fields of the deleted snapshot from the status. */
  | { readonly kind: 'clearStatus' }
  | { readonly kind: 'removeFinalizer' }

const DELETION_KINDS: ReadonlySet<ContentStep['kind']> = new Set([
  'delete',
  'keepForOther',
  'clearStatus',
  'removeFinalizer',
])

export function isDeletionStep(step: ContentStep): step is DeletionStep {
  return DELETION_KINDS.has(step.kind)
}

type ContentCheck = PlanCheck<ContentView, ContentStep>
type Result = PlanCheckResult<ContentStep>

/** The checks of a snapshot content. The first check that applies returns the whole plan. */
const CONTENT_CHECKS: readonly ContentCheck[] = [
  isForeign, // Does nothing for a content without a source, or whose class names another driver.
  mustBeDeleted, // Deletes the snapshot. This comes before a creation, which could not be deleted otherwise.
  isNew, // Creates the snapshot.
  isReady, // Removes the annotation being-created, which an earlier run could not remove.
  existsInDriver, // Asks the driver about a pre-provisioned snapshot, or about a group member with its handles.
  awaitsHandles, // Waits for the handles of a group member. It is created with its group.
  isNotReady, // Calls CreateSnapshot again, which returns whether the snapshot is ready.
]

/** The checks of a content whose deletion is requested. */
const DELETION_CHECKS: readonly ContentCheck[] = [
  hasLeftAnnotation, // Removes the annotation being-created first, because it blocks the deletion in all later runs.
  snapshotIsNamedByOther, // Keeps a snapshot that another content names.
  snapshotIsLeft, // Deletes the snapshot.
  statusNamesSnapshot, // Clears the status, so that no later run deletes another snapshot with the handle.
  finalizerIsLeft, // Removes our finalizer last, because the content disappears with it.
]

/** Returns the pending steps for a snapshot content, in their order. Empty if there is nothing to do. */
export function decide(view: ContentView): readonly ContentStep[] {
  return planOf(CONTENT_CHECKS, view)
}

function isForeign(view: ContentView): Result {
  return isOurs(view) ? undefined : endPlan()
}

function mustBeDeleted(view: ContentView): Result {
  return isToBeDeleted(view.content) ? endPlan(...planOf(DELETION_CHECKS, view)) : undefined
}

function isNew({ content }: ContentView): Result {
  if (!isDynamic(content) || content.status !== undefined || content.memberOf !== undefined) return undefined
  return endPlan({ kind: 'create', phase: 'create' })
}

function isReady({ content }: ContentView): Result {
  if (content.status?.ready !== true) return undefined
  return content.beingCreated ? endPlan({ kind: 'removeBeingCreated' }) : endPlan()
}

function existsInDriver({ content: { preProvisioned, status } }: ContentView): Result {
  const isMemberWithHandles = status?.groupHandle !== undefined && status.handle !== undefined
  return preProvisioned !== undefined || isMemberWithHandles ? endPlan({ kind: 'check' }) : undefined
}

function awaitsHandles({ content: { key, memberOf } }: ContentView): Result {
  return memberOf === undefined
    ? undefined
    : endPlan({ kind: 'awaitHandles', waitsFor: { kind: 'handles', name: key } })
}

function isNotReady(): Result {
  return endPlan({ kind: 'create', phase: 'check' })
}

/** Only an unbound pre-provisioned content has the annotation here. No snapshotter has created its snapshot. */
function hasLeftAnnotation({ content }: ContentView): Result {
  return content.beingCreated ? endPlan({ kind: 'removeBeingCreated' }) : undefined
}

function snapshotIsNamedByOther(view: ContentView): Result {
  const handle = handleToDelete(view)
  if (handle === undefined || view.isKeptForOther || !view.isNamedByOther(handle)) return undefined
  return next({ kind: 'keepForOther', handle })
}

function snapshotIsLeft(view: ContentView): Result {
  const handle = handleToDelete(view)
  if (handle === undefined || view.isKeptForOther || view.isNamedByOther(handle)) return undefined
  const { status, preProvisioned } = view.content
  const listed = status?.members ?? []
  const members = listed.length > 0 ? listed : (preProvisioned?.members ?? [])
  return next({ kind: 'delete', handle, members })
}

function statusNamesSnapshot(view: ContentView): Result {
  if (handleToDelete(view) === undefined || view.content.status === undefined) return undefined
  return next({ kind: 'clearStatus' })
}

function finalizerIsLeft({ content, kind }: ContentView): Result {
  return hasFinalizer(content, kind.metadataNames) ? next({ kind: 'removeFinalizer' }) : undefined
}

/** Reports whether to handle the snapshot content: it has a source, and its class does not name another driver. */
function isOurs({ content, snapshotClass, driverName }: ContentView): boolean {
  if (!isDynamic(content) && content.preProvisioned === undefined) return false
  return snapshotClass === undefined || snapshotClass.driver === driverName
}

/** Reports whether the driver creates the snapshot, so that it is not pre-provisioned. */
function isDynamic({ volumes }: Content): boolean {
  return volumes.length > 0
}

/**
 * Reports whether the snapshot of a deleted content can be deleted now. A creation that may be running blocks the
 * deletion, because its snapshot would remain.
 */
export function isToBeDeleted(content: Content): boolean {
  const { deletedSeconds, preProvisioned, refUid, beingCreated, beingDeleted } = content
  if (deletedSeconds === undefined) return false
  return (preProvisioned !== undefined && refUid === '') || (!beingCreated && beingDeleted)
}

/** Returns the handle of the snapshot to delete. Undefined for a group member, which is deleted with its group. */
export function handleToDelete(view: ContentView): string | undefined {
  const { content, driverHasDeleted } = view
  if (!isOurs(view) || content.policy !== 'Delete' || content.status?.groupHandle !== undefined) return undefined
  if (content.status?.handle !== undefined) return content.status.handle
  return driverHasDeleted || content.memberOf !== undefined ? undefined : unclearedHandle(content)
}
