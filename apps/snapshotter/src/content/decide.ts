import type { WakeEvent } from '@csi-sidecars/controller'
import { type Content, type SnapshotClass, unclearedHandle } from '../caches/content.ts'
import type { Kind } from './kinds.ts'

/** A snapshot content and all facts that decide its next step, read at one moment. */
export interface ContentView {
  readonly content: Content
  readonly kind: Pick<Kind, 'names'>
  readonly driverName: string
  /** The snapshot class of the content. Undefined if the cache does not have the class. */
  readonly klass: SnapshotClass | undefined
  /** True if this process has deleted the snapshot. */
  readonly isDeleted: boolean
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
  | { readonly do: 'create'; readonly phase: Phase }
  /** Asks the driver about an existing snapshot. */
  | { readonly do: 'check' }
  /** Waits until the snapshot-controller has written the handles of a group member. */
  | { readonly do: 'await'; readonly waitsFor: WakeEvent<'group'> }
  /** Removes the annotation that marks a running creation. */
  | { readonly do: 'unmark' }
  | ({ readonly do: 'delete' } & SnapshotDeletion)
  /** Leaves the snapshot to another content that names it. */
  | { readonly do: 'keepForOther'; readonly handle: string }
  /** Removes the fields of the deleted snapshot from the status. */
  | { readonly do: 'clear' }
  /** Removes our finalizer from the snapshot content. */
  | { readonly do: 'release' }

export type DeletionStep = Extract<ContentStep, { readonly do: 'delete' | 'keepForOther' | 'clear' | 'release' }>

const DELETION: ReadonlySet<ContentStep['do']> = new Set(['delete', 'keepForOther', 'clear', 'release'])

export function isDeletionStep(step: ContentStep): step is DeletionStep {
  return DELETION.has(step.do)
}

/** Returns the pending steps for a snapshot content, in their order. Empty if there is nothing to do. */
export function decide(view: ContentView): readonly ContentStep[] {
  const { content } = view
  const { status, given, memberOf } = content
  if (!isOurs(view)) return []
  if (isToBeDeleted(content)) return deletion(view)
  if (isDynamic(content) && status === undefined && memberOf === undefined) return [{ do: 'create', phase: 'create' }]
  if (status?.ready === true) return content.beingCreated ? [{ do: 'unmark' }] : []
  if (given !== undefined || (status?.groupHandle !== undefined && status.handle !== undefined))
    return [{ do: 'check' }]
  if (memberOf !== undefined) return [{ do: 'await', waitsFor: { kind: 'group', name: memberOf } }]
  return [{ do: 'create', phase: 'check' }]
}

/** Reports whether to handle the snapshot content: it has a source, and its class does not name another driver. */
function isOurs({ content, klass, driverName }: ContentView): boolean {
  if (!isDynamic(content) && content.given === undefined) return false
  return klass === undefined || klass.driver === driverName
}

/** Reports whether the driver creates the snapshot, so that it is not pre-provisioned. */
function isDynamic({ volumes }: Content): boolean {
  return volumes.length > 0
}

/**
 * Reports whether the snapshot of a deleted content can be deleted now. A creation that may be running blocks the
 * deletion, because its snapshot would remain.
 */
export function isToBeDeleted({ deletedSeconds, given, refUid, beingCreated, beingDeleted }: Content): boolean {
  if (deletedSeconds === undefined) return false
  return (given !== undefined && refUid === '') || (!beingCreated && beingDeleted)
}

function deletion(view: ContentView): readonly ContentStep[] {
  const { content, kind } = view
  const { status, finalizers } = content
  // Only an unbound pre-provisioned content gets here with the annotation. Its snapshot was not created by a snapshotter.
  if (content.beingCreated) return [{ do: 'unmark' }]
  const release: readonly ContentStep[] = finalizers.includes(kind.names.finalizer) ? [{ do: 'release' }] : []
  const handle = handleToDelete(view)
  if (handle === undefined) return release
  const rest: readonly ContentStep[] = [...(status === undefined ? [] : [{ do: 'clear' } as const]), ...release]
  if (view.isKeptForOther) return rest
  if (view.isNamedByOther(handle)) return [{ do: 'keepForOther', handle }, ...rest]
  const listed = status?.members ?? []
  const members = listed.length > 0 ? listed : (content.given?.members ?? [])
  return [{ do: 'delete', handle, members }, ...rest]
}

/** Returns the handle of the snapshot to delete. Undefined for a group member, which is deleted with its group. */
export function handleToDelete(view: ContentView): string | undefined {
  const { content, isDeleted } = view
  if (!isOurs(view) || content.policy !== 'Delete' || content.status?.groupHandle !== undefined) return undefined
  if (content.status?.handle !== undefined) return content.status.handle
  return isDeleted || content.memberOf !== undefined ? undefined : unclearedHandle(content)
}
