import type { Reader } from '@csi-sidecars/informer'
import { type GroupLimit, Lanes, type Placement } from '@csi-sidecars/workqueue'
import type { Attachment } from '../caches/attachment.ts'
import { forManyNodes, type Volume } from '../caches/volume.ts'
import { callSource } from './call-source.ts'
import { volumeOf } from './observe.ts'

const ATTACH = 0
const DETACH = 1

/** Of the workers, how many detaches leave to attaches. With one worker there is nothing to share. */
const KEPT_FOR_ATTACH = 0.4

export interface LaneSettings {
  readonly workers: number
  /** Calls for one node at a time; 0 is no limit. */
  readonly maxInflightPerNode: number
}

/**
 * Attaches and detaches as two lanes: detaches that hang cannot keep an attach from the driver.
 * A volume that one node may use has one call at a time, any other has one for each node.
 */
export function attachmentLanes(
  settings: LaneSettings,
  attachments: Pick<Reader<Attachment>, 'get'>,
  volumes: Pick<Reader<Volume>, 'get'>,
): Lanes {
  const { workers } = settings
  const reserved = workers < 2 ? 0 : Math.max(1, Math.floor(workers * KEPT_FOR_ATTACH))
  return new Lanes({
    workers,
    lanes: [{ reserved }, { reserved: 0 }],
    place: (key) => placeOf(attachments.get(key), settings, volumes),
  })
}

export function placeOf(
  va: Attachment | undefined,
  { maxInflightPerNode }: Pick<LaneSettings, 'maxInflightPerNode'>,
  volumes: Pick<Reader<Volume>, 'get'>,
): Placement {
  // Gone while it was queued: there is nothing to call, so it fits anywhere.
  if (va === undefined) return { lane: ATTACH, limits: [] }
  const limits: GroupLimit[] = [{ group: volumeGroup(va, volumes), max: 1 }]
  if (maxInflightPerNode > 0) limits.push({ group: `node ${va.nodeName}`, max: maxInflightPerNode })
  return { lane: va.deleting ? DETACH : ATTACH, limits }
}

function volumeGroup(va: Attachment, volumes: Pick<Reader<Volume>, 'get'>): string {
  const { handle, manyNodes } = identityOf(va, volumes)
  return manyNodes ? `volume ${handle} on ${va.nodeName}` : `volume ${handle}`
}

/** As the driver will be called, where that can be said; else the volume's name serves as well as its handle. */
function identityOf(va: Attachment, volumes: Pick<Reader<Volume>, 'get'>): { handle: string; manyNodes: boolean } {
  const volume = volumeOf(va, volumes)
  const source = callSource(volume)
  if (source.ok) return { handle: source.csi.volumeHandle, manyNodes: forManyNodes(source.spec.accessModes) }
  if (volume.from !== 'pv') return { handle: va.key, manyNodes: false }
  const { handleDigest, manyNodes = false } = volume.pv ?? {}
  return { handle: handleDigest === undefined ? `of ${volume.name}` : `#${handleDigest}`, manyNodes }
}
