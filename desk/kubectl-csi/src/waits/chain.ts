import type { ClaimContext } from './claim-context.ts'
import type { ObjectWait } from './wait.ts'

/** An object for which another object waits. The name of an attachment is its key in `ClaimContext.attachments`. */
export interface Awaited {
  readonly kind: 'claim' | 'pod' | 'attachment'
  readonly name: string
}

/** Returns the objects for which an object waits. Empty if only a component or a person can end the wait. */
export function awaitedBy(wait: ObjectWait, { claim, pods, attachments }: ClaimContext): readonly Awaited[] {
  const { reason, names, node, object } = wait
  switch (reason) {
    case 'PodWithoutVolume':
    case 'PodLostVolume':
    case 'VolumeBound':
      return claim === undefined ? [] : [{ kind: 'claim', name: claim.name }]
    case 'ConsumerNotScheduled':
      return podsNamed(names ?? pods.filter(({ nodeName }) => nodeName === '').map(({ name }) => name))
    case 'ClaimInUse':
    case 'UnmountedElsewhereFirst':
      return podsNamed(names)
    case 'Attaching':
    case 'AttachFails':
    case 'CannotAttach':
    case 'DetachedElsewhereFirst':
    case 'DetachedHereFirst':
    case 'DetachFails':
      if (object.kind !== 'pod') return []
      return attachments
        .filter(({ nodeName }) => nodeName === node)
        .map(({ key: name }) => ({ kind: 'attachment', name }))
    case 'VolumeStillAttached':
      return (names ?? []).map((name) => ({ kind: 'attachment', name }))
    default:
      return []
  }
}

function podsNamed(names: readonly string[] = []): readonly Awaited[] {
  return names.map((name) => ({ kind: 'pod', name }))
}

/** Sorts waits so that each wait comes after the waits that it depends on. The age of waits does not matter. */
export function causesFirst(waits: readonly ObjectWait[], context: ClaimContext): readonly ObjectWait[] {
  const depthOf = (wait: ObjectWait, above: ReadonlySet<ObjectWait>): number => {
    if (above.has(wait)) return 0
    const awaited = awaitedBy(wait, context).map(({ kind, name }) => `${kind} ${name}`)
    const next = waits.filter((each) => awaited.includes(objectOf(each, context)))
    return Math.max(0, ...next.map((each) => 1 + depthOf(each, new Set([...above, wait]))))
  }
  const depths = new Map(waits.map((wait) => [wait, depthOf(wait, new Set())]))
  return waits.toSorted((a, b) => (depths.get(a) ?? 0) - (depths.get(b) ?? 0))
}

/** Returns the key of the waiting object. A volume that is detached from a node has the key of its attachment. */
function objectOf({ object }: ObjectWait, { attachments }: ClaimContext): string {
  const attachment =
    object.node === undefined ? undefined : attachments.find(({ nodeName }) => nodeName === object.node)
  return attachment === undefined ? `${object.kind} ${object.name}` : `attachment ${attachment.key}`
}
