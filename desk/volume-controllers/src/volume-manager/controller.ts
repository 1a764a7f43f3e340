import { unreachable } from '@csi-sidecars/base'
import {
  type Controller,
  enqueueOn,
  forgetDeleted,
  KeyFeed,
  objectOf,
  presentKey,
  type Source,
} from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import { inUseList } from '../attach-detach/node-status.ts'
import { PODS_BY_NODE } from '../caches/caches.ts'
import type { CachedNode } from '../caches/node.ts'
import type { CachedPod } from '../caches/pod.ts'
import { baseController, type ControllerParts, keysOfPodVolumes, periodicKeys } from '../control.ts'
import { ActualState } from './actual-state.ts'
import type { NodeParts } from './calls.ts'
import { DesiredState, type MountSource } from './desired-state.ts'
import type { Disk } from './disk.ts'
import { type MountParts, reconcileMount } from './mount.ts'
import type { Paths } from './paths.ts'
import { type PodParts, populate, reconcilePod } from './pods.ts'

/** The options in which the volume managers of the nodes differ. */
export interface NodeOptions {
  readonly node: string
  readonly disk: Disk
  readonly paths: Paths
  /** The node service of this node, if it differs from the shared driver. */
  readonly driver?: Driver | undefined
}

export type VolumeManagerParts = ControllerParts & { readonly driver: Driver }

const VOLUME_WORKERS = 8
const POD_WORKERS = 4
/** How often volumes are published again if their CSIDriver has `requiresRepublish`. */
const REPUBLISH_MS = 60_000

/** Returns the controllers that do the volume work of the kubelets of several nodes. */
export function volumeManagers(deps: VolumeManagerParts, nodes: readonly NodeOptions[]): readonly Controller[] {
  return nodes.flatMap((options) => volumeManager(deps, options))
}

/** Returns the controllers of one node, which mount the volumes of its pods and report them. */
function volumeManager(
  deps: VolumeManagerParts,
  { node, disk, paths, driver = deps.driver }: NodeOptions,
): readonly Controller[] {
  const { client, caches } = deps
  const desired = new DesiredState()
  const actual = new ActualState()
  // Mounts from before a restart may still exist, so they are uncertain.
  for (const point of disk.records()) actual.record(point, 'uncertain')
  const inUse = inUseList({ client, nodes: caches.nodes }, () => usedVolumes(desired, actual))
  const nodeParts: NodeParts = { ...deps, driver, node, disk, paths, desired, actual, inUse }
  const pods = new KeyFeed()
  const volumes = new KeyFeed()
  const podParts: PodParts = { ...nodeParts, lookAtVolume: (name) => volumes.add(name), deletedPods: new Set() }
  const lookAtPod = (uid: string): void => {
    for (const pod of podsOn(nodeParts)) {
      if (pod.uid === uid) pods.add(pod.key)
    }
  }
  return [podController(podParts, pods.source), volumeController({ ...podParts, lookAtPod }, volumes.source)]
}

function podsOn({ node, caches }: NodeParts): readonly CachedPod[] {
  return caches.pods.store.byIndex(PODS_BY_NODE, node)
}

function podController(deps: PodParts, requested: Source): Controller {
  const { caches, node, deletedPods } = deps
  return {
    ...baseController('pod', deps),
    workers: POD_WORKERS,
    caches: [caches.pods, caches.nodes],
    sources: [
      requested,
      forgetDeleted(caches.pods, ({ uid }) => deletedPods.delete(uid)),
      enqueueOn(caches.pods, (event) => (objectOf(event).nodeName === node ? presentKey(event) : [])),
      ...keysOfPodVolumes(caches, ({ key, nodeName }) => (nodeName === node ? [key] : [])),
    ],
    reconcile: (key, { signal }) => reconcilePod(key, deps, signal),
  }
}

function volumeController(deps: PodParts & MountParts, requested: Source): Controller {
  const { caches, clock, desired } = deps
  return {
    ...baseController('volume', deps),
    workers: VOLUME_WORKERS,
    caches: [caches.pods, caches.nodes],
    sources: [
      populated(deps),
      requested,
      enqueueOn(caches.pods, (event) => (event.type === 'deleted' ? desired.deletePod(event.object.uid) : [])),
      enqueueOn(caches.nodes, (event) => (event.type === 'deleted' ? [] : attachedVolumes(objectOf(event), deps))),
      ...keysOfPodVolumes(caches, ({ uid }) => [...desired.volumesOf(uid)]),
      periodicKeys(clock, REPUBLISH_MS, () => volumesToRepublish(deps)),
    ],
    reconcile: (key, { signal }) => reconcileMount(key, deps, signal),
  }
}

/**
 * Adds all pods first, because a volume without a known pod would be unmounted. Then it enqueues all volumes that may
 * still be mounted from before a restart.
 */
function populated(deps: PodParts): Source {
  const { caches, node, actual } = deps
  return (queue) => {
    for (const pod of podsOn(deps)) populate(pod, deps)
    const reported = caches.nodes.store.get(node)?.volumesInUse ?? []
    for (const volumeName of [...actual.volumeNames(), ...reported]) queue.add(volumeName)
    return () => undefined
  }
}

/** Returns the volumes that the node status newly reports as attached. */
function attachedVolumes(
  { key, volumesAttached }: CachedNode,
  { node, desired, actual }: NodeParts,
): readonly string[] {
  if (key !== node) return []
  const attached = new Set(volumesAttached.map(({ name }) => name))
  return [...desired.attachable()].filter((name) => attached.has(name) && actual.get(name)?.attached !== true)
}

/** Returns the volumes to publish again, because their drivers require it. */
function volumesToRepublish({ desired, actual, caches }: NodeParts): readonly string[] {
  const requiresRepublish = (driver: string): boolean => caches.drivers.store.get(driver)?.requiresRepublish === true
  return desired
    .sources()
    .filter((source) => isRepublished(source, requiresRepublish) && actual.markStale(source.volumeName))
    .map(({ volumeName }) => volumeName)
}

/** Returns the volumes that must not be detached: desired volumes, and volumes that are not unmounted yet. */
function usedVolumes(desired: DesiredState, actual: ActualState): readonly string[] {
  const names = new Set(desired.attachable())
  for (const volumeName of actual.volumeNames()) {
    const source = actual.get(volumeName)?.source
    if (source?.kind === 'csi' && source.attach) names.add(volumeName)
  }
  return [...names].sort()
}

/** Reports whether a mount is published periodically, because its driver requires it. */
export function isRepublished(source: MountSource, republishes: (driver: string) => boolean): boolean {
  switch (source.kind) {
    case 'csi':
      return republishes(source.csi.driver)
    case 'ephemeral':
      return republishes(source.source.driver)
    case 'local':
      return false
    default:
      return unreachable(source)
  }
}
