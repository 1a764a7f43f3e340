import { unreachable } from '@csi-sidecars/base'
import type { CallSource, SeenCall } from '@csi-sidecars/disturb'
import type { Informer, InformerEvent } from '@csi-sidecars/informer'
import type {
  Attachment,
  CachedContent,
  CachedNode,
  CachedPod,
  CachedSnapshot,
  Caches,
  Claim,
  Volume,
} from '@csi-sidecars/volume-controllers'

interface Kinds {
  readonly claim: Claim
  readonly volume: Volume
  readonly pod: CachedPod
  readonly attachment: Attachment
  readonly node: CachedNode
  readonly snapshot: CachedSnapshot
  readonly content: CachedContent
}

/** A change of an object in the API. `before` is undefined for a new object, and `after` for a deleted object. */
export type ObjectEvent = {
  [K in keyof Kinds]: { readonly kind: K; readonly before: Kinds[K] | undefined; readonly after: Kinds[K] | undefined }
}[keyof Kinds]

/** A change of an object, or a CSI call that has ended. */
export type ClusterEvent = ObjectEvent | { readonly kind: 'call'; readonly call: SeenCall }

/** Calls the listener with every later event, in the order of arrival. Returns a function that removes the listener. */
export function watchCluster(caches: Caches, calls: CallSource, listener: (event: ClusterEvent) => void): () => void {
  const follow = <K extends keyof Kinds>(kind: K, informer: Informer<Kinds[K], never>): (() => void) =>
    informer.subscribe((event) => {
      listener({ kind, ...statesOf(event) } as ObjectEvent)
    })
  const undo = [
    follow('claim', caches.claims),
    follow('volume', caches.volumes),
    follow('pod', caches.pods),
    follow('attachment', caches.attachments),
    follow('node', caches.nodes),
    ...(caches.snapshotCaches === undefined
      ? []
      : [follow('snapshot', caches.snapshotCaches.snapshots), follow('content', caches.snapshotCaches.contents)]),
    calls((call) => listener({ kind: 'call', call })),
  ]
  return () => {
    for (const each of undo) each()
  }
}

function statesOf<T>(event: InformerEvent<T>): { readonly before: T | undefined; readonly after: T | undefined } {
  switch (event.type) {
    case 'added':
      return { before: undefined, after: event.object }
    case 'updated':
      return { before: event.before, after: event.after }
    case 'deleted':
      return { before: event.object, after: undefined }
    default:
      return unreachable(event)
  }
}
