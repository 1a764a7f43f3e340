import type { Cause } from '@csi-sidecars/controller'
import type { Content, SnapshotClass } from '../caches/content.ts'
import type { Kind } from './kinds.ts'

/** One content and all that its next step depends on, at one moment. */
export interface ContentView {
  readonly content: Content
  readonly kind: Pick<Kind, 'names'>
  readonly driverName: string
  /** The class of the content, if the cache has it. */
  readonly klass: SnapshotClass | undefined
}

/** The phase of a failure, which decides its reason and its text. */
export type Phase = 'create' | 'check'

export type Step =
  /** Creates the snapshot at the driver, or asks by the same call whether it is ready. */
  | { readonly do: 'create'; readonly phase: Phase }
  /** Asks the driver about a snapshot that exists. */
  | { readonly do: 'check' }
  /** The snapshot-controller writes the handles of the members of a group. */
  | { readonly do: 'await'; readonly cause: Cause }
  /** Removes the annotation that a creation is under way. */
  | { readonly do: 'unmark' }
  | { readonly do: 'delete'; readonly handle: string; readonly members: readonly string[] }
  /** Removes the deleted snapshot from the status. */
  | { readonly do: 'clear' }
  /** Removes our finalizer. */
  | { readonly do: 'release' }

export type DeletionStep = Extract<Step, { readonly do: 'delete' | 'clear' | 'release' }>

const DELETION: ReadonlySet<Step['do']> = new Set(['delete', 'clear', 'release'])

export function isDeletionStep(step: Step): step is DeletionStep {
  return DELETION.has(step.do)
}

/** The steps that are due, in their order. None: nothing is to be done. */
export function decide(view: ContentView): readonly Step[] {
  const { content } = view
  const { status, given, memberOf } = content
  if (!isOurs(view)) return []
  if (isToBeDeleted(content)) return deletion(view)
  if (isDynamic(content) && status === undefined && memberOf === undefined) return [{ do: 'create', phase: 'create' }]
  if (status?.ready === true) return content.beingCreated ? [{ do: 'unmark' }] : []
  if (given !== undefined || (status?.groupHandle !== undefined && status.handle !== undefined))
    return [{ do: 'check' }]
  if (memberOf !== undefined) return [{ do: 'await', cause: { on: 'group', name: memberOf } }]
  return [{ do: 'create', phase: 'check' }]
}

/** A content without source, or whose class is for another driver, is not ours. A missing class does not matter. */
function isOurs({ content, klass, driverName }: ContentView): boolean {
  if (!isDynamic(content) && content.given === undefined) return false
  return klass === undefined || klass.driver === driverName
}

/** The snapshot is to be created, or was created, for the content. */
function isDynamic({ volumes }: Content): boolean {
  return volumes.length > 0
}

/**
 * Reports whether the content is deleted and nothing blocks its end. A creation that has not ended for sure blocks it: its
 * snapshot would be left over.
 */
export function isToBeDeleted({ deletedSeconds, given, refUid, beingCreated, beingDeleted }: Content): boolean {
  if (deletedSeconds === undefined) return false
  return (given !== undefined && refUid === '') || (!beingCreated && beingDeleted)
}

function deletion({ content, kind }: ContentView): readonly Step[] {
  const { status, finalizers } = content
  const release: readonly Step[] = finalizers.includes(kind.names.finalizer) ? [{ do: 'release' }] : []
  const handle = handleToDelete(content)
  if (handle === undefined) return release
  const listed = status?.members ?? []
  const members = listed.length > 0 ? listed : (content.given?.members ?? [])
  return [{ do: 'delete', handle, members }, ...(status === undefined ? [] : [{ do: 'clear' } as const]), ...release]
}

/** The handle of the snapshot that goes with the content. The members of a group go with the group. */
function handleToDelete({ policy, status, given, memberOf }: Content): string | undefined {
  if (policy !== 'Delete' || status?.groupHandle !== undefined) return undefined
  if (status?.handle !== undefined) return status.handle
  // The status of a deleted snapshot is cleared of `readyToUse` too.
  const wasNeverChecked = status === undefined || status.ready !== undefined
  return wasNeverChecked && memberOf === undefined ? given?.handle : undefined
}
