import { unreachable } from '@csi-sidecars/base'
import { type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import { isNotFound } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS } from '@csi-sidecars/kube-types'
import { boundVolume } from '../attach-detach/resolve.ts'
import { SELECTED_NODE } from '../caches/annotations.ts'
import { type Caches, PODS_BY_CLAIM, PODS_BY_NODE, volumesFor } from '../caches/caches.ts'
import { type CachedPod, claimKeysOf, isTerminated } from '../caches/pod.ts'
import type { Volume } from '../caches/volume.ts'
import { type ControllerParts, KeyInbox, type Life, refOf, runWorks, targetOf } from '../control.ts'
import { bindVolumePatch } from '../persistent-volume/patches.ts'
import { type ClaimToPlace, decidePlace, type NodeOption, type PlaceStep, type PlaceView } from './decide.ts'
import { placePod } from './place.ts'

/** The scheduler whose place this is; pods that name another are left to that. */
export const SCHEDULER = 'default-scheduler'

export interface BinderParts extends ControllerParts {
  /** Pods that were placed a moment ago, by uid: the cache may not know it yet. */
  readonly placed: Map<string, string>
}

/** One worker: two pods must not be promised the same volume, or the last room of a node. */
const WORKERS = 1

/** Places pods by what their volumes allow, and has delayed claims provisioned for the nodes that it chooses. */
export async function runBinder(parts: Omit<BinderParts, 'placed'>, life: Life): Promise<void> {
  const { caches } = parts
  const queue = new KeyInbox()
  const own: BinderParts = { ...parts, placed: new Map() }
  const waiting = (): void => {
    for (const pod of caches.pods.store.byIndex(PODS_BY_NODE, '')) if (isOurs(pod)) queue.add(pod.key)
  }
  const podsOfClaim = (key: string): void => {
    for (const pod of caches.pods.store.byIndex(PODS_BY_CLAIM, key)) if (isOurs(pod)) queue.add(pod.key)
  }
  const undo = [
    caches.pods.subscribe((event) => onPod(event, own, { add: (key) => queue.add(key), waiting })),
    caches.claims.subscribe((event) => podsOfClaim(event.type === 'updated' ? event.after.key : event.object.key)),
    caches.nodes.subscribe(waiting),
    caches.classes.subscribe(waiting),
    caches.volumes.subscribe((event) => isFree(event) && waiting()),
  ]
  waiting()
  const reconcile = (key: string, { signal }: Run): Promise<Outcome> => reconcilePlace(key, own, signal)
  try {
    await runWorks([{ of: 'pod', workers: WORKERS, sources: [queue.source], reconcile }], parts, life)
  } finally {
    for (const each of undo) each()
  }
}

function isFree(event: InformerEvent<Volume>): boolean {
  if (event.type === 'deleted') return false
  return (event.type === 'updated' ? event.after : event.object).claimRef === undefined
}

/** A pod to be placed; and one that went, which may have made room. */
function onPod(
  event: InformerEvent<CachedPod>,
  { placed }: BinderParts,
  { add, waiting }: { readonly add: (key: string) => void; readonly waiting: () => void },
): void {
  const pod = event.type === 'updated' ? event.after : event.object
  if (event.type === 'deleted' || pod.nodeName !== '') placed.delete(pod.uid)
  if (event.type === 'deleted' || isTerminated(pod)) waiting()
  else if (isOurs(pod)) add(pod.key)
}

function isOurs({ nodeName, schedulerName, deleting }: CachedPod): boolean {
  return nodeName === '' && schedulerName === SCHEDULER && !deleting
}

export async function reconcilePlace(key: string, parts: BinderParts, signal: AbortSignal): Promise<Outcome> {
  const pod = parts.caches.pods.store.get(key)
  if (pod === undefined || !isOurs(pod) || parts.placed.has(pod.uid)) return SETTLED
  try {
    for (const step of decidePlace(observe(pod, parts))) await perform(step, pod, parts, signal)
    return SETTLED
  } catch (error) {
    signal.throwIfAborted()
    return isNotFound(error) ? SETTLED : { kind: 'retry', cause: error }
  }
}

function observe(pod: CachedPod, { caches, placed }: BinderParts): PlaceView {
  const nodes = [...caches.nodes.store.values()].map((node): NodeOption => {
    const promised = [...placed.values()].filter((name) => name === node.key).length
    const pods = caches.pods.store.byIndex(PODS_BY_NODE, node.key).filter((each) => !isTerminated(each))
    return { node, pods: pods.length + promised, room: roomOn(node.key, pods, caches) }
  })
  const claims = claimsOf(pod, caches)
  const volumes = claims.flatMap(({ claim }) => (claim === undefined ? [] : volumesFor(claim, caches)))
  return { pod, claims, nodes, volumes }
}

function claimsOf(pod: CachedPod, caches: Caches): readonly ClaimToPlace[] {
  return claimKeysOf(pod).map((key) => {
    const claim = caches.claims.store.get(key)
    const single = claim?.accessModes.includes('ReadWriteOncePod') === true
    const others = caches.pods.store
      .byIndex(PODS_BY_CLAIM, key)
      .filter((each) => each.uid !== pod.uid && !isTerminated(each))
    return {
      name: refOf(key).name,
      claim,
      volume: claim && boundVolume(claim, caches),
      storageClass: claim?.className ? caches.classes.store.get(claim.className) : undefined,
      isTaken: single && others.some(({ nodeName }) => nodeName !== ''),
    }
  })
}

/** By the smallest limit among the node's drivers; each claim counts once. */
function roomOn(node: string, pods: readonly CachedPod[], { csiNodes }: Caches): number | undefined {
  const limits = [...(csiNodes.store.get(node)?.drivers.values() ?? [])].flatMap(({ most }) =>
    most === undefined ? [] : [most],
  )
  if (limits.length === 0) return undefined
  return Math.min(...limits) - new Set(pods.flatMap(claimKeysOf)).size
}

async function perform(step: PlaceStep, pod: CachedPod, parts: BinderParts, signal: AbortSignal): Promise<void> {
  const { client, caches, recorder, placed } = parts
  const target = targetOf(PODS, pod)
  switch (step.do) {
    case 'reserve': {
      const patch = bindVolumePatch(step.volume, step.claim)
      if (patch === undefined) return
      caches.volumes.learn(await client.patch(PERSISTENT_VOLUMES, { name: step.volume.key }, patch, { signal }))
      return
    }
    case 'selectNode': {
      const body = { metadata: { annotations: { [SELECTED_NODE]: step.node } } }
      const ref = refOf(step.claim.key)
      caches.claims.learn(await client.patch(PERSISTENT_VOLUME_CLAIMS, ref, { kind: 'merge', body }, { signal }))
      return
    }
    case 'bind':
      await placePod(client, pod, step.node, signal)
      placed.set(pod.uid, step.node)
      return recorder.event(target, 'Normal', 'Scheduled', `Successfully assigned ${pod.key} to ${step.node}`)
    case 'report':
      return recorder.event(target, 'Warning', 'FailedScheduling', step.message)
    default:
      unreachable(step)
  }
}
