import type { Reader } from '@csi-sidecars/informer'
import { type GroupLimit, Lanes, type Placement, reservedFor } from '@csi-sidecars/workqueue'
import type { CachedAttachment } from '../caches/attachment.ts'
import { type CachedVolume, forManyNodes, modesOf } from '../caches/volume.ts'
import { callSource } from '../volumes/call-source.ts'
import { type AttachVolumeView, volumeOf } from '../volumes/volume-view.ts'
import type { AttachmentMemory } from './memory.ts'

const ATTACH = 0
const DETACH = 1

/** The flags that decide how many attachments run at once. */
export interface LaneSettings {
  readonly workers: number
  /** The limit of concurrent calls for one node; 0: no limit. */
  readonly maxInflightPerNode: number
}

/** The caches and the memory that decide where a key is queued. */
export interface LaneSources {
  readonly attachments: Pick<Reader<CachedAttachment>, 'get'>
  readonly volumes: Pick<Reader<CachedVolume>, 'get'>
  readonly memory: Pick<AttachmentMemory, 'orphanedPublication'>
}

/**
 * Returns the two parts of the queue: one lane for attaches and one for detaches. New attaches start even while hanging
 * detaches, or retried attaches, occupy all workers.
 */
export function attachmentLanes(settings: LaneSettings, sources: LaneSources): Lanes {
  const { workers } = settings
  return new Lanes({
    workers,
    lanes: [{ reserved: reservedFor(workers) }, { reserved: 0 }],
    placementOf: (key) => placementOf(key, settings, sources),
  })
}

type NodeLimit = Pick<LaneSettings, 'maxInflightPerNode'>

/**
 * Returns the lane of a key, and the limits of concurrent calls that apply to it:
 * - One call at a time runs for a volume and a node.
 * - A volume for a single node is published for one attachment at a time, whichever PersistentVolumes name it.
 * - A publish waits for all detaches of its volume, also for queued ones. A detach waits for no publish on another
 *   node.
 */
export function placementOf(key: string, limit: NodeLimit, { attachments, volumes, memory }: LaneSources): Placement {
  const orphaned = memory.orphanedPublication(key)
  if (orphaned !== undefined) return detachPlacement(orphaned.volume, orphaned.nodeName, limit)
  const va = attachments.get(key)
  // The attachment was deleted while its key was queued, so its run makes no call.
  if (va === undefined) return { lane: ATTACH, limits: [] }
  const { name, isForManyNodes } = volumeIdentityOf(va, volumeOf(va, volumes))
  if (va.deleting) return detachPlacement(name, va.nodeName, limit)
  const max = isForManyNodes ? Number.POSITIVE_INFINITY : 1
  return { lane: ATTACH, limits: [{ group: volumeGroup(name), max }, ...limitsOf(name, va.nodeName, limit)] }
}

function detachPlacement(volume: string, nodeName: string, limit: NodeLimit): Placement {
  return { lane: DETACH, limits: limitsOf(volume, nodeName, limit), blocks: volumeGroup(volume) }
}

function limitsOf(volume: string, nodeName: string, { maxInflightPerNode }: NodeLimit): readonly GroupLimit[] {
  const call = { group: `volume ${volume} on ${nodeName}`, max: 1 }
  return maxInflightPerNode > 0 ? [call, { group: `node ${nodeName}`, max: maxInflightPerNode }] : [call]
}

function volumeGroup(volume: string): string {
  return `volume ${volume}`
}

/** Returns the name under which the queue counts the calls for a volume. */
export function volumeIdentityName(va: CachedAttachment, volume: AttachVolumeView): string {
  return volumeIdentityOf(va, volume).name
}

/**
 * Returns the handle that the driver is called with. Without a handle, the name of the volume or of the attachment
 * replaces it.
 */
function volumeIdentityOf(va: CachedAttachment, volume: AttachVolumeView): { name: string; isForManyNodes: boolean } {
  const pv = volume.kind === 'pv' ? volume.pv : undefined
  // Another driver's volume is cached with only a hash of its handle. The hash is used even if the handle was read.
  if (pv?.handleDigest !== undefined) return { name: `#${pv.handleDigest}`, isForManyNodes: forManyNodes(pv.modes) }
  const source = callSource(volume)
  // The access modes of the source count, because translation can narrow the modes of an in-tree volume.
  if (source.ok)
    return { name: source.csi.volumeHandle, isForManyNodes: forManyNodes(modesOf(source.spec.accessModes)) }
  if (va.remembered !== undefined && pv === undefined) return { name: va.remembered.handle, isForManyNodes: false }
  return { name: volume.kind === 'pv' ? `of ${volume.name}` : va.key, isForManyNodes: false }
}
