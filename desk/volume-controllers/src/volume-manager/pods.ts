import { type Outcome, SETTLED } from '@csi-sidecars/controller'
import { type Patch, PODS, referenceTo, refOf, rfc3339 } from '@csi-sidecars/kube-types'
import { type CachedPod, isTerminated } from '../caches/pod.ts'
import { settledUnlessFailed } from '../control.ts'
import type { NodeParts } from './calls.ts'
import { type ResolvedVolume, resolveVolumes } from './resolve.ts'

/** Everything that a run for a pod on a node needs. */
export interface PodParts extends NodeParts {
  readonly lookAtVolume: (volumeName: string) => void
  /** The UIDs of pods whose deletion the API server has accepted. The event may still be pending. */
  readonly deletedPods: Set<string>
}

/** An action of a kubelet for a pod, apart from mounts and unmounts. */
export type PodStep =
  | { readonly kind: 'nothing' }
  /** Ends the containers. The volumes may be unmounted only afterwards. */
  | { readonly kind: 'end' }
  /** Deletes the pod from the API, because the node has unmounted its volumes. */
  | { readonly kind: 'remove' }
  /** Starts the containers, because all volumes are mounted. */
  | { readonly kind: 'run' }

/** A pod and the state of its volumes, from which its phase follows. */
export interface PodView {
  readonly pod: CachedPod
  readonly isMounted: boolean
  /** True if every volume that the containers use is mounted. */
  readonly isReady: boolean
}

export function decidePod({ pod, isMounted, isReady }: PodView): PodStep {
  if (pod.deleting) {
    if (!isTerminated(pod)) return { kind: 'end' }
    return { kind: isMounted ? 'nothing' : 'remove' }
  }
  return { kind: pod.phase === 'Pending' && isReady ? 'run' : 'nothing' }
}

/** Updates the desired state with the volumes of a pod, and writes the status of the pod. */
export async function reconcilePod(key: string, deps: PodParts, signal: AbortSignal): Promise<Outcome> {
  const { caches, actual } = deps
  const pod = caches.pods.store.get(key)
  if (pod === undefined || pod.nodeName !== deps.node || deps.deletedPods.has(pod.uid)) return SETTLED
  const podVolumes = populate(pod, deps)
  const isReady = wantsMounts(pod) && podVolumes.every((each) => isMounted(each, pod, deps))
  const step = decidePod({ pod, isMounted: actual.isMountedFor(pod.uid), isReady })
  return await settledUnlessFailed(perform(step, { pod, deps, signal }))
}

/** Reports whether the pod needs its mounts. A pod in deletion needs them until its containers have ended. */
function wantsMounts(pod: CachedPod): boolean {
  return !isTerminated(pod)
}

/** Updates the desired state with one pod. Volumes that cannot be resolved now keep their state. */
export function populate(pod: CachedPod, deps: PodParts): readonly ResolvedVolume[] {
  const { caches, desired, recorder, lookAtVolume } = deps
  if (!wantsMounts(pod)) {
    for (const volumeName of desired.deletePod(pod.uid)) lookAtVolume(volumeName)
    return []
  }
  const podVolumes = resolveVolumes(pod, caches)
  for (const each of podVolumes) {
    if (each.kind === 'mountable' && desired.add(each.source, each.mount, each.capacity)) {
      lookAtVolume(each.source.volumeName)
    }
    if (each.kind === 'refused')
      recorder.event(referenceTo(PODS, pod), { type: 'Warning', reason: 'FailedMount', message: each.why })
  }
  return podVolumes
}

function isMounted(podVolume: ResolvedVolume, { uid }: CachedPod, { actual }: NodeParts): boolean {
  if (podVolume.kind === 'unused') return true
  return podVolume.kind === 'mountable' && actual.get(podVolume.source.volumeName)?.pods.get(uid)?.kind === 'mounted'
}

interface PodRun {
  readonly pod: CachedPod
  readonly deps: PodParts
  readonly signal: AbortSignal
}

async function perform(step: PodStep, { pod, deps, signal }: PodRun): Promise<void> {
  const { client, caches, clock } = deps
  if (step.kind === 'remove') {
    // A pod that was recreated under this name must not be deleted.
    const present = await client.get(PODS, refOf(pod.key), { signal })
    if (present.metadata?.uid !== pod.uid) return
    // A kubelet deletes an ended pod without a grace period.
    await client.delete(PODS, refOf(pod.key), { signal, gracePeriodSeconds: 0 })
    deps.deletedPods.add(pod.uid)
    return
  }
  if (step.kind === 'nothing') return
  const patchOf = step.kind === 'run' ? runningPatch : endedPatch
  const options = { signal, subresource: 'status' }
  caches.pods.storeAnswer(await client.patch(PODS, refOf(pod.key), patchOf(pod, clock.now()), options))
}

const STARTED = ['PodScheduled', 'PodReadyToStartContainers', 'Initialized', 'ContainersReady', 'Ready']
const ENDED = ['ContainersReady', 'Ready']

/** Returns the status of a pod whose volumes are mounted: its containers count as running. */
function runningPatch(pod: CachedPod, nowMs: number): Patch {
  const now = rfc3339(nowMs)
  const conditions = STARTED.map((type) => ({ type, status: 'True', lastProbeTime: null, lastTransitionTime: now }))
  return statusPatch(pod, { running: { startedAt: now } }, { phase: 'Running', startTime: now, conditions })
}

/** Returns the status of a pod whose containers have succeeded. Its volumes may be unmounted now. */
function endedPatch(pod: CachedPod, nowMs: number): Patch {
  const now = rfc3339(nowMs)
  const ended = { status: 'False', reason: 'PodCompleted', lastProbeTime: null, lastTransitionTime: now }
  const conditions = ENDED.map((type) => ({ type, ...ended }))
  const terminated = { exitCode: 0, reason: 'Completed', startedAt: now, finishedAt: now }
  return statusPatch(pod, { terminated }, { phase: 'Succeeded', conditions })
}

/** Returns a patch of the status. Its UID makes the API server refuse it for a recreated pod. */
function statusPatch({ containers, uid }: CachedPod, state: object, status: object): Patch {
  const runs = 'running' in state
  const containerStatuses = containers.map(({ name, image }) => {
    return { name, image, imageID: '', ready: runs, started: runs, restartCount: 0, state }
  })
  return { kind: 'merge', body: { metadata: { uid }, status: { ...status, containerStatuses } } }
}
