import type { Outcome, Run, Source } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import type { Attachment } from '../caches/attachment.ts'
import { PODS_BY_CLAIM } from '../caches/caches.ts'
import type { Claim } from '../caches/claim.ts'
import type { CachedNode } from '../caches/node.ts'
import { isOutOfService } from '../caches/node.ts'
import type { CachedPod } from '../caches/pod.ts'
import { claimKeyOf, type Volume } from '../caches/volume.ts'
import { type ControllerParts, KeyInbox, type Life, periodically, runWorks } from '../control.ts'
import { attachedList } from './node-status.ts'
import { reconcileVolume } from './reconcile.ts'
import { AttachDetachState } from './state.ts'

export interface AttachDetachOptions {
  /** How long an unhealthy node may keep a volume from being detached; undefined: for ever. */
  readonly maxWaitForUnmountMs?: number | undefined
  readonly populateMs?: number
  /** In the words of Kubernetes 1.37: a pod whose volume another node has waits for a detach. */
  readonly saysWaiting?: boolean
}

const WORKERS = 32
const MAX_WAIT_FOR_UNMOUNT_MS = 6 * 60 * 1000
const POPULATE_MS = 60_000

/** Decides which volumes should be on which nodes, by making and deleting VolumeAttachments. */
export async function runAttachDetachController(
  parts: ControllerParts,
  life: Life,
  options: AttachDetachOptions = {},
): Promise<void> {
  const { caches, clock, client } = parts
  const { populateMs = POPULATE_MS, saysWaiting = false } = options
  const maxWaitForUnmountMs = 'maxWaitForUnmountMs' in options ? options.maxWaitForUnmountMs : MAX_WAIT_FOR_UNMOUNT_MS
  const world = new AttachDetachState(caches, { maxWaitForUnmountMs })
  const queue = new KeyInbox()
  const look = (volumeNames: Iterable<string>): void => {
    for (const volumeName of volumeNames) queue.add(volumeName)
  }
  const podsOfClaim = (key: string): void => {
    for (const pod of caches.pods.store.byIndex(PODS_BY_CLAIM, key)) look(world.syncPod(pod))
  }
  const begin: Source = () => {
    world.rebuild()
    look(world.volumeNames())
    const undo = [
      caches.pods.subscribe((event) => look(onPod(event, world))),
      caches.nodes.subscribe((event) => look(onNode(event, world))),
      caches.attachments.subscribe((event) => look(onAttachment(event, world))),
      caches.claims.subscribe((event) => event.type !== 'deleted' && podsOfClaim(latest(event).key)),
      caches.volumes.subscribe((event) => onVolume(event, podsOfClaim)),
      caches.drivers.subscribe(() => look(world.populate())),
      periodically(clock, populateMs, () => look(world.populate())),
    ]
    return () => {
      for (const each of undo) each()
    }
  }
  const { write: writeStatus } = attachedList({ client, nodes: caches.nodes }, (node) => world.actual.reportedOn(node))
  const own = { ...parts, saysWaiting, world, writeStatus }
  const reconcile = (key: string, { signal }: Run): Promise<Outcome> => reconcileVolume(key, own, signal)
  const { attachments, nodes, pods, claims, volumes } = caches
  await runWorks(
    [
      {
        of: 'volume',
        workers: WORKERS,
        caches: [attachments, nodes, pods, claims, volumes],
        sources: [queue.source, begin],
        reconcile,
      },
    ],
    parts,
    life,
  )
}

function onPod(event: InformerEvent<CachedPod>, world: AttachDetachState): readonly string[] {
  return event.type === 'deleted' ? world.desired.deletePod(event.object.uid) : world.syncPod(latest(event))
}

/** What a node uses, whether it is well, and whether it exists at all, each decides about detaches. */
function onNode(event: InformerEvent<CachedNode>, world: AttachDetachState): readonly string[] {
  const node = latest(event)
  if (event.type === 'deleted') {
    world.desired.deleteNode(node.key)
    return [...world.actual.setInUse(node.key, node.volumesInUse), ...world.actual.volumesOn(node.key)]
  }
  // A new one says nothing yet of what is attached, whatever a node of that name has said.
  if (event.type === 'added') world.actual.unreportAll(node.key)
  const changed = world.syncNode(node.key)
  const turned = event.type === 'added' || hasTurned(event.before, event.after)
  return turned ? [...changed, ...world.actual.volumesOn(node.key)] : changed
}

function hasTurned(before: CachedNode, after: CachedNode): boolean {
  return before.ready !== after.ready || isOutOfService(before) !== isOutOfService(after)
}

function onAttachment(event: InformerEvent<Attachment>, world: AttachDetachState): readonly string[] {
  const attachment = latest(event)
  const volumeName = world.volumeNameOf(attachment)
  world.attachmentSettled(attachment.key)
  if (event.type === 'deleted') world.attachmentGone(attachment)
  return volumeName === undefined ? [] : [volumeName]
}

function onVolume(event: InformerEvent<Volume>, podsOfClaim: (key: string) => void): void {
  const { claimRef } = latest(event)
  if (event.type !== 'deleted' && claimRef !== undefined) podsOfClaim(claimKeyOf(claimRef))
}

function latest<T extends Claim | CachedNode | CachedPod | Attachment | Volume>(event: InformerEvent<T>): T {
  return event.type === 'updated' ? event.after : event.object
}
