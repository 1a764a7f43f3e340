import { type Patch, rfc3339 } from '@csi-sidecars/kube-types'
import type { CachedPod } from '../caches/pod.ts'

/** The status of a pod whose volumes are mounted: its containers count as running. */
export function runningPatch({ containers, uid }: CachedPod, nowMs: number): Patch {
  const now = rfc3339(nowMs)
  const containerStatuses = containers.map(({ name, image }) => ({
    name,
    image,
    imageID: '',
    ready: true,
    started: true,
    restartCount: 0,
    state: { running: { startedAt: now } },
  }))
  const conditions = ['PodScheduled', 'PodReadyToStartContainers', 'Initialized', 'ContainersReady', 'Ready'].map(
    (type) => ({ type, status: 'True', lastProbeTime: null, lastTransitionTime: now }),
  )
  return statusPatch(uid, { phase: 'Running', startTime: now, conditions, containerStatuses })
}

/** The status of a pod that is being deleted: its containers have ended well. Its volumes may be unmounted now. */
export function endedPatch({ containers, uid }: CachedPod, nowMs: number): Patch {
  const now = rfc3339(nowMs)
  const containerStatuses = containers.map(({ name, image }) => ({
    name,
    image,
    imageID: '',
    ready: false,
    started: false,
    restartCount: 0,
    state: { terminated: { exitCode: 0, reason: 'Completed', startedAt: now, finishedAt: now } },
  }))
  const conditions = ['ContainersReady', 'Ready'].map((type) => ({
    type,
    status: 'False',
    reason: 'PodCompleted',
    lastProbeTime: null,
    lastTransitionTime: now,
  }))
  return statusPatch(uid, { phase: 'Succeeded', conditions, containerStatuses })
}

/** The uid keeps it from a pod that was recreated under the name. */
function statusPatch(uid: string, status: object): Patch {
  return { kind: 'merge', body: { metadata: { uid }, status } }
}
