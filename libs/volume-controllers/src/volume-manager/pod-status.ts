import { type Patch, rfc3339 } from '@csi-sidecars/kube-types'
import type { CachedPod } from '../caches/pod.ts'

const STARTED = ['PodScheduled', 'PodReadyToStartContainers', 'Initialized', 'ContainersReady', 'Ready']
const ENDED = ['ContainersReady', 'Ready']

/** Returns the status of a pod whose volumes are mounted: its containers count as running. */
export function runningPatch(pod: CachedPod, nowMs: number): Patch {
  const now = rfc3339(nowMs)
  const conditions = STARTED.map((type) => ({ type, status: 'True', lastProbeTime: null, lastTransitionTime: now }))
  return statusPatch(pod, { running: { startedAt: now } }, { phase: 'Running', startTime: now, conditions })
}

/** Returns the status of a pod whose containers have succeeded. Its volumes may be unmounted now. */
export function endedPatch(pod: CachedPod, nowMs: number): Patch {
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
