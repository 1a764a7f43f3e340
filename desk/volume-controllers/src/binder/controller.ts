import { unreachable } from '@csi-sidecars/base'
import { type Controller, enqueueOn, forgetDeleted, objectOf } from '@csi-sidecars/controller'
import { isConflict, type KubeClient } from '@csi-sidecars/kube-client'
import {
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  type Resource,
  referenceTo,
  refOf,
} from '@csi-sidecars/kube-types'
import { boundVolume } from '../attach-detach/resolve.ts'
import { type Caches, PODS_BY_CLAIM, PODS_BY_NODE, volumesFor } from '../caches/caches.ts'
import { SELECTED_NODE } from '../caches/metadata.ts'
import { type CachedPod, claimKeysOf, isTerminated } from '../caches/pod.ts'
import { baseController, type ControllerParts, except, settledUnlessFailed } from '../control.ts'
import { bindVolumePatch } from '../persistent-volume/patches.ts'
import { type ClaimToPlace, decidePlace, type NodeOption, type PlaceStep, type PlaceView } from './decide.ts'

/** The scheduler that this controller replaces. Pods of other schedulers are ignored. */
export const SCHEDULER = 'default-scheduler'

interface BinderParts extends ControllerParts {
  /** The nodes of the pods that were just placed, by the UID of the pod. The cache may not show them yet. */
  readonly placed: Map<string, string>
}

/** A single worker, so that two pods never get the same volume or the last place on a node. */
const WORKERS = 1

/** Places pods on nodes that their volumes allow, and selects the nodes for claims with delayed binding. */
export function binder(deps: Omit<BinderParts, 'placed'>): Controller {
  const { pods, claims, nodes, classes, volumes } = deps.caches
  const binderParts: BinderParts = { ...deps, placed: new Map() }
  const toPlace = (candidates: readonly CachedPod[]): string[] => candidates.filter(isOurs).map(({ key }) => key)
  const allToPlace = (): string[] => toPlace(pods.store.byIndex(PODS_BY_NODE, ''))
  return {
    ...baseController('pod', deps),
    workers: WORKERS,
    sources: [
      forgetDeleted(pods, ({ uid }) => binderParts.placed.delete(uid)),
      enqueueOn(pods, (event) => {
        const pod = objectOf(event)
        if (pod.nodeName !== '') binderParts.placed.delete(pod.uid)
        // A deleted or terminated pod may free a place on its node, so all waiting pods are tried again.
        return event.type === 'deleted' || isTerminated(pod) ? allToPlace() : toPlace([pod])
      }),
      enqueueOn(claims, (event) => toPlace(pods.store.byIndex(PODS_BY_CLAIM, objectOf(event).key))),
      enqueueOn(nodes, allToPlace),
      enqueueOn(classes, allToPlace),
      enqueueOn(volumes, (event) => {
        const isFree = event.type !== 'deleted' && objectOf(event).claimRef === undefined
        return isFree ? allToPlace() : []
      }),
    ],
    reconcile: (key, { signal }) => settledUnlessFailed(place(key, binderParts, signal)),
  }
}

function isOurs({ nodeName, schedulerName, deleting }: CachedPod): boolean {
  return nodeName === '' && schedulerName === SCHEDULER && !deleting
}

async function place(key: string, deps: BinderParts, signal: AbortSignal): Promise<void> {
  const pod = deps.caches.pods.store.get(key)
  if (pod === undefined || !isOurs(pod) || deps.placed.has(pod.uid)) return
  for (const step of decidePlace(observe(pod, deps))) await perform(step, { pod, deps, signal })
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

/** Returns how many more claims fit on a node: the smallest limit of its drivers, minus the claims of its pods. */
function roomOn(node: string, pods: readonly CachedPod[], { csiNodes }: Caches): number | undefined {
  const limits = [...(csiNodes.store.get(node)?.drivers.values() ?? [])].flatMap(({ most }) =>
    most === undefined ? [] : [most],
  )
  if (limits.length === 0) return undefined
  return Math.min(...limits) - new Set(pods.flatMap(claimKeysOf)).size
}

interface Placement {
  readonly pod: CachedPod
  readonly deps: BinderParts
  readonly signal: AbortSignal
}

async function perform(step: PlaceStep, { pod, deps, signal }: Placement): Promise<void> {
  const { client, caches, recorder, placed } = deps
  const target = referenceTo(PODS, pod)
  switch (step.kind) {
    case 'reserve': {
      const patch = bindVolumePatch(step.volume, step.claim)
      if (patch === undefined) return
      caches.volumes.storeAnswer(await client.patch(PERSISTENT_VOLUMES, { name: step.volume.key }, patch, { signal }))
      return
    }
    case 'selectNode': {
      const body = { metadata: { annotations: { [SELECTED_NODE]: step.node } } }
      const ref = refOf(step.claim.key)
      caches.claims.storeAnswer(await client.patch(PERSISTENT_VOLUME_CLAIMS, ref, { kind: 'merge', body }, { signal }))
      return
    }
    case 'bind':
      await placePod(client, { pod, node: step.node }, signal)
      placed.set(pod.uid, step.node)
      return recorder.event(target, {
        type: 'Normal',
        reason: 'Scheduled',
        message: `Successfully assigned ${pod.key} to ${step.node}`,
      })
    case 'report':
      return recorder.event(target, { type: 'Warning', reason: 'FailedScheduling', message: step.message })
    default:
      unreachable(step)
  }
}

interface Binding extends KubeObject {
  readonly target: { readonly apiVersion: string; readonly kind: string; readonly name: string }
}

const BINDINGS: Resource<Binding> = {
  group: '',
  version: 'v1',
  plural: 'bindings',
  kind: 'Binding',
  namespaced: true,
  subresources: [],
}

/** Binds a pod to a node, as a scheduler does. A pod that another scheduler has placed keeps its node. */
async function placePod(
  client: KubeClient,
  { pod, node }: { readonly pod: CachedPod; readonly node: string },
  signal: AbortSignal,
): Promise<void> {
  const target = { apiVersion: 'v1', kind: 'Node', name: node }
  await except(isConflict, client.create(BINDINGS, { metadata: refOf(pod.key), target }, { signal }))
}
