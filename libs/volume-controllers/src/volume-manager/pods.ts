import { type Outcome, SETTLED } from '@csi-sidecars/controller'
import { PODS } from '@csi-sidecars/kube-types'
import { type CachedPod, isTerminated } from '../caches/pod.ts'
import { refOf, settledUnlessFailed, targetOf } from '../control.ts'
import { volumeOfScrubber } from '../persistent-volume/scrubber.ts'
import type { NodeParts } from './node-parts.ts'
import { endedPatch, runningPatch } from './pod-status.ts'
import { type Resolved, resolveVolumes } from './resolve.ts'

export interface PodParts extends NodeParts {
  readonly lookAtVolume: (volumeName: string) => void
  /** Pods whose removal the API has accepted, by uid; the event of that may still come. */
  readonly removed: Set<string>
}

/** What a kubelet does for a pod besides its mounts; pure. */
export type PodStep =
  | { readonly do: 'nothing' }
  /** Its containers end; only then may its volumes go. */
  | { readonly do: 'end' }
  /** Nothing of it is left on the node: the API may forget it. */
  | { readonly do: 'remove' }
  /** All its volumes are there. */
  | { readonly do: 'run' }

export interface PodView {
  readonly pod: CachedPod
  readonly isMounted: boolean
  /** Every volume that its containers use is mounted. */
  readonly isReady: boolean
}

export function decidePod({ pod, isMounted, isReady }: PodView): PodStep {
  if (pod.deleting) {
    if (!isTerminated(pod)) return { do: 'end' }
    return { do: isMounted ? 'nothing' : 'remove' }
  }
  // Its work is done as soon as it runs: nothing of the cluster is under a host path, and no server is asked.
  if (pod.phase === 'Running' && volumeOfScrubber(pod) !== undefined) return { do: 'end' }
  return { do: pod.phase === 'Pending' && isReady ? 'run' : 'nothing' }
}

/** The populator and the pod worker in one: what the pod wants mounted, and what its status says. */
export async function reconcilePod(key: string, parts: PodParts, signal: AbortSignal): Promise<Outcome> {
  const { caches, actual } = parts
  const pod = caches.pods.store.get(key)
  if (pod === undefined || pod.nodeName !== parts.node || parts.removed.has(pod.uid)) return SETTLED
  const resolved = populate(pod, parts)
  const isReady = wantsMounts(pod) && resolved.every((each) => isMounted(each, pod, parts))
  const step = decidePod({ pod, isMounted: actual.isMountedFor(pod.uid), isReady })
  return await settledUnlessFailed(perform(step, { pod, parts, signal }))
}

/** Until its containers have ended, also when it is being deleted. */
function wantsMounts(pod: CachedPod): boolean {
  return !isTerminated(pod)
}

/** Brings the desired state up to date with one pod. What cannot be resolved at the moment stays as it was. */
export function populate(pod: CachedPod, parts: PodParts): readonly Resolved[] {
  const { caches, desired, recorder, lookAtVolume } = parts
  if (!wantsMounts(pod)) {
    for (const volumeName of desired.deletePod(pod.uid)) lookAtVolume(volumeName)
    return []
  }
  const resolved = resolveVolumes(pod, caches)
  for (const each of resolved) {
    if (each.is === 'mountable' && desired.add(each.source, each.mount, each.capacity)) {
      lookAtVolume(each.source.volumeName)
    }
    if (each.is === 'refused')
      recorder.event(targetOf(PODS, pod), { type: 'Warning', reason: 'FailedMount', message: each.why })
  }
  return resolved
}

function isMounted(resolved: Resolved, { uid }: CachedPod, { actual }: NodeParts): boolean {
  if (resolved.is === 'unused') return true
  return resolved.is === 'mountable' && actual.get(resolved.source.volumeName)?.pods.get(uid)?.is === 'mounted'
}

interface PodRun {
  readonly pod: CachedPod
  readonly parts: PodParts
  readonly signal: AbortSignal
}

async function perform(step: PodStep, { pod, parts, signal }: PodRun): Promise<void> {
  const { client, caches, clock } = parts
  if (step.do === 'remove') {
    // A pod that was recreated under the name is another pod.
    const present = await client.get(PODS, refOf(pod.key), { signal })
    if (present.metadata?.uid !== pod.uid) return
    // What a kubelet says at the end of a pod: the grace is over.
    await client.delete(PODS, refOf(pod.key), { signal, gracePeriodSeconds: 0 })
    parts.removed.add(pod.uid)
    return
  }
  if (step.do === 'nothing') return
  const patchOf = step.do === 'run' ? runningPatch : endedPatch
  const options = { signal, subresource: 'status' }
  caches.pods.learn(await client.patch(PODS, refOf(pod.key), patchOf(pod, clock.now()), options))
}
