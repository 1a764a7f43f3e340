import { type Controller, enqueueOn, objectOf, type Source } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import type { CachedNode } from '../caches/node.ts'
import { isOutOfService } from '../caches/node.ts'
import type { CachedPod } from '../caches/pod.ts'
import type { Attachment } from '../caches/storage.ts'
import { baseController, type ControllerParts, keysOfPodVolumes, periodicKeys } from '../control.ts'
import { attachedList } from './node-status.ts'
import { reconcileVolume } from './reconcile.ts'
import { AttachDetachState } from './state.ts'

/** The options of the attach-detach controller. Times are in milliseconds. */
export interface AttachDetachOptions {
  /** The longest delay by an unhealthy node. Default: 6 minutes. Undefined: no limit. */
  readonly maxWaitForUnmountMs?: number | undefined
  /** The time between two repairs of the desired state. Default: one minute. */
  readonly populateMs?: number
  /** True if events say "Waiting for detach" instead of "Multi-Attach error", as in Kubernetes 1.37. */
  readonly waitingMessage?: boolean
  /** True if a deleted Node counts as a machine that is gone and uses no volumes, as in Kubernetes 1.38. */
  readonly deletedNodeReleasesVolumes?: boolean
  /** True if a start deletes the unused attachments of drivers that need no attach, as in Kubernetes 1.38. */
  readonly detachesWithoutNeed?: boolean
}

const WORKERS = 32
const MAX_WAIT_FOR_UNMOUNT_MS = 6 * 60 * 1000
const POPULATE_MS = 60_000

/** Creates and deletes VolumeAttachments, so that each volume is attached to the nodes of its pods. */
export function attachDetachController(deps: ControllerParts, options: AttachDetachOptions = {}): Controller {
  const { caches, clock, client } = deps
  const { populateMs = POPULATE_MS, waitingMessage = false } = options
  const { deletedNodeReleasesVolumes = false, detachesWithoutNeed = false } = options
  const maxWaitForUnmountMs = 'maxWaitForUnmountMs' in options ? options.maxWaitForUnmountMs : MAX_WAIT_FOR_UNMOUNT_MS
  const state = new AttachDetachState(caches, { maxWaitForUnmountMs, deletedNodeReleasesVolumes, detachesWithoutNeed })
  const { write: writeStatus } = attachedList({ client, nodes: caches.nodes }, (node) => state.actual.reportedOn(node))
  const attachDetachParts = { ...deps, waitingMessage, state, writeStatus }
  const { attachments, nodes, pods, claims, volumes, drivers } = caches
  return {
    ...baseController('volume', deps),
    workers: WORKERS,
    caches: [attachments, nodes, pods, claims, volumes, drivers],
    sources: [
      enqueueOn(nodes, (event) => onNode(event, state)),
      enqueueOn(pods, (event) => onPod(event, state)),
      enqueueOn(attachments, (event) => onAttachment(event, state)),
      ...keysOfPodVolumes(caches, (pod) => state.syncPod(pod)),
      // `rebuilt` must be the last source, because the first event of each node clears the list of its volumes.
      rebuilt(state),
      periodicKeys(clock, populateMs, () => state.populate()),
    ],
    reconcile: (key, { signal }) => reconcileVolume(key, attachDetachParts, signal),
  }
}

function rebuilt(state: AttachDetachState): Source {
  return (queue) => {
    state.rebuild()
    for (const volumeName of state.volumeNames()) queue.add(volumeName)
    return () => undefined
  }
}

function onPod(event: InformerEvent<CachedPod>, state: AttachDetachState): readonly string[] {
  return event.type === 'deleted' ? state.desired.deletePod(event.object.uid) : state.syncPod(objectOf(event))
}

/** Updates the desired and the actual state after an event of a node. Returns the volumes to reconcile. */
function onNode(event: InformerEvent<CachedNode>, state: AttachDetachState): readonly string[] {
  const node = objectOf(event)
  if (event.type === 'deleted') {
    return state.deleteNode(node)
  }
  // A new node has no attached volumes, whatever a deleted node of the same name reported.
  if (event.type === 'added') state.actual.unreportAll(node.key)
  const changed = state.syncNode(node.key)
  const turned = event.type === 'added' || hasTurned(event.before, event.after)
  return turned ? [...changed, ...state.actual.volumesOn(node.key)] : changed
}

function hasTurned(before: CachedNode, after: CachedNode): boolean {
  return before.ready !== after.ready || isOutOfService(before) !== isOutOfService(after)
}

function onAttachment(event: InformerEvent<Attachment>, state: AttachDetachState): readonly string[] {
  const attachment = objectOf(event)
  const volumeName = state.volumeNameOf(attachment)
  state.attachmentSettled(attachment.key)
  if (event.type === 'deleted') state.attachmentGone(attachment)
  return volumeName === undefined ? [] : [volumeName]
}
