import type { Reader } from '@csi-sidecars/informer'
import { type GroupLimit, Lanes, type Placement, reservedFor } from '@csi-sidecars/workqueue'
import type { Attachment } from '../caches/attachment.ts'
import { forManyNodes, modesOf, type Volume } from '../caches/volume.ts'
import { callSource } from '../volumes/call-source.ts'
import { type VolumeView, volumeOf } from '../volumes/volume-view.ts'
import type { AttachmentMemory } from './memory.ts'

const ATTACH = 0
const DETACH = 1

export interface LaneSettings {
  readonly workers: number
  /** Calls for one node at a time; 0 is no limit. */
  readonly maxInflightPerNode: number
}

/** What the placement of a key depends on. */
export interface LaneSources {
  readonly attachments: Pick<Reader<Attachment>, 'get'>
  readonly volumes: Pick<Reader<Volume>, 'get'>
  readonly memory: Pick<AttachmentMemory, 'orphanedPublication'>
}

/**
 * Attaches and detaches as two lanes: what hangs of the one, or again and again, cannot keep an attach from the driver.
 * So many attaches are reserved as start while detaches, or attaches that are tried again, occupy all workers.
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
 * - Of one volume and node there is one call at a time.
 * - A volume that one node may use is published for one attachment at a time, whichever PersistentVolumes name it.
 * - It leaves a node before it comes to another: a detach waits for no attach elsewhere, and an attach for every detach,
 *   also for one that still waits for a worker.
 */
export function placementOf(key: string, limit: NodeLimit, { attachments, volumes, memory }: LaneSources): Placement {
  const orphaned = memory.orphanedPublication(key)
  if (orphaned !== undefined) return detachPlacement(orphaned.volume, orphaned.nodeName, limit)
  const va = attachments.get(key)
  // Gone while it was queued: there is nothing to call, so it fits anywhere.
  if (va === undefined) return { lane: ATTACH, limits: [] }
  const { name, manyNodes } = identityOf(va, volumeOf(va, volumes))
  if (va.deleting) return detachPlacement(name, va.nodeName, limit)
  const max = manyNodes ? Number.POSITIVE_INFINITY : 1
  return { lane: ATTACH, limits: [{ group: everywhere(name), max }, ...limitsOf(name, va.nodeName, limit)] }
}

function detachPlacement(volume: string, nodeName: string, limit: NodeLimit): Placement {
  return { lane: DETACH, limits: limitsOf(volume, nodeName, limit), blocks: everywhere(volume) }
}

function limitsOf(volume: string, nodeName: string, { maxInflightPerNode }: NodeLimit): readonly GroupLimit[] {
  const call = { group: `volume ${volume} on ${nodeName}`, max: 1 }
  return maxInflightPerNode > 0 ? [call, { group: `node ${nodeName}`, max: maxInflightPerNode }] : [call]
}

function everywhere(volume: string): string {
  return `volume ${volume}`
}

/** By what the calls for a volume keep out of each other's way. */
export function volumeName(va: Attachment, volume: VolumeView): string {
  return identityOf(va, volume).name
}

/** As the driver will be called, where that can be said; else the volume's name serves as well as its handle. */
function identityOf(va: Attachment, volume: VolumeView): { name: string; manyNodes: boolean } {
  const pv = volume.from === 'pv' ? volume.pv : undefined
  // The source of another driver's is in no cache, so it must not matter here whether it was read.
  if (pv?.handleDigest !== undefined) return { name: `#${pv.handleDigest}`, manyNodes: forManyNodes(pv.modes) }
  const source = callSource(volume)
  // Translation can narrow the access modes of an in-tree volume.
  if (source.ok) return { name: source.csi.volumeHandle, manyNodes: forManyNodes(modesOf(source.spec.accessModes)) }
  if (va.remembered !== undefined && pv === undefined) return { name: va.remembered.handle, manyNodes: false }
  return { name: volume.from === 'pv' ? `of ${volume.name}` : va.key, manyNodes: false }
}
