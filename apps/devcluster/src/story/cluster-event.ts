import type { CallSource, SeenCall } from '@csi-sidecars/disturb'
import type { Informer } from '@csi-sidecars/informer'
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
  [K in keyof Kinds]: { readonly is: K; readonly before: Kinds[K] | undefined; readonly after: Kinds[K] | undefined }
}[keyof Kinds]

/** A change of an object, or a CSI call that has ended. */
export type ClusterEvent = ObjectEvent | { readonly is: 'call'; readonly call: SeenCall }

/** Calls the listener with every later event, in the order of arrival. Returns a function that removes the listener. */
export function watchCluster(caches: Caches, calls: CallSource, listener: (event: ClusterEvent) => void): () => void {
  const follow = <K extends keyof Kinds>(is: K, informer: Informer<Kinds[K], never>): (() => void) =>
    informer.subscribe((event) => {
      const before = event.type === 'updated' ? event.before : event.type === 'deleted' ? event.object : undefined
      const after = event.type === 'updated' ? event.after : event.type === 'added' ? event.object : undefined
      listener({ is, before, after } as ObjectEvent)
    })
  const undo = [
    follow('claim', caches.claims),
    follow('volume', caches.volumes),
    follow('pod', caches.pods),
    follow('attachment', caches.attachments),
    follow('node', caches.nodes),
    ...(caches.taken === undefined
      ? []
      : [follow('snapshot', caches.taken.snapshots), follow('content', caches.taken.contents)]),
    calls((call) => listener({ is: 'call', call })),
  ]
  return () => {
    for (const each of undo) each()
  }
}
