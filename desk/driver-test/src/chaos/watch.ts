import type { ApiServer } from '@csi-sidecars/emulator'
import {
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  VOLUME_ATTACHMENTS,
  VOLUME_SNAPSHOT_CONTENTS,
  type VolumeAttachment,
} from '@csi-sidecars/kube-types'
import type { Sighting } from './monitor.ts'

/** A CSI call, reported when it begins and again when it has ended. */
interface WatchedCall {
  readonly method: string
  readonly request: Readonly<Record<string, unknown>>
  readonly end: number | undefined
}

/** The observable behaviour of a driver. */
export interface WatchedDriver {
  watchCalls(listener: (call: WatchedCall) => void): () => void
  /** The ids of the nodes to which a volume is published. */
  publishedTo(volumeId: string): readonly string[]
  /** The paths at which a volume is staged or mounted on a node, by the node's id. */
  mountedOn(nodeId: string, volumeId: string): readonly string[]
}

/** The API server and the driver that the monitor observes. */
export interface Watched {
  readonly api: ApiServer
  readonly driver: WatchedDriver
}

/** Reports each observation for the monitor as soon as it happens. Returns a function that ends the reports. */
export function watchAll(watched: Watched, report: (sighting: Sighting) => void): () => void {
  const { api, driver } = watched
  const handles = new Map<string, string>()
  const undo = [
    api.onChange(PERSISTENT_VOLUMES, ({ type, object }) => {
      const name = object.metadata?.name ?? ''
      handles.set(name, object.spec?.csi?.volumeHandle ?? '')
      const size = object.spec?.capacity?.['storage']
      if (type !== 'DELETED' && size !== undefined) report({ kind: 'size', of: `volume ${name}`, size })
    }),
    api.onChange(PERSISTENT_VOLUME_CLAIMS, ({ type, object }) => {
      const size = object.status?.capacity?.['storage']
      // The UID distinguishes claims of the same name, because a recreated claim may be smaller.
      const of = `claim ${object.metadata?.name} ${object.metadata?.uid}`
      if (type !== 'DELETED' && size !== undefined) report({ kind: 'size', of, size })
    }),
    api.onChange(NODES, ({ object: { metadata, status } }) => {
      const volumesAttached = (status?.volumesAttached ?? []).map(({ name }) => name)
      report({ kind: 'node', node: metadata?.name ?? '', volumesInUse: status?.volumesInUse ?? [], volumesAttached })
    }),
    watchAttachments(api, handles, report),
    driver.watchCalls((call) => reportCall(call, watched, report)),
  ]
  return () => {
    for (const each of undo) each()
  }
}

function watchAttachments(
  api: ApiServer,
  handles: ReadonlyMap<string, string>,
  report: (sighting: Sighting) => void,
): () => void {
  const deleted = new Set<string>()
  return api.onChange(VOLUME_ATTACHMENTS, ({ type, object }) => {
    const uid = object.metadata?.uid ?? ''
    const attachment = aboutOf(object, handles)
    const isDeleted = type === 'DELETED' || object.metadata?.deletionTimestamp !== undefined
    if (isDeleted && !deleted.has(uid)) {
      deleted.add(uid)
      report({ kind: 'attachmentDeleted', ...attachment })
    }
  })
}

function aboutOf({ metadata, spec }: VolumeAttachment, handles: ReadonlyMap<string, string>) {
  const volumeId = handles.get(spec.source.persistentVolumeName ?? '') ?? ''
  return { name: metadata?.name ?? '', nodeId: spec.nodeName, volumeId }
}

function reportCall(
  { method, request, end }: WatchedCall,
  watched: Watched,
  report: (sighting: Sighting) => void,
): void {
  if (end !== undefined) return
  const volumeId = String(request['volumeId'])
  const nodeId = String(request['nodeId'])
  if (method === 'ControllerPublishVolume')
    report({ kind: 'publishing', volumeId, nodeId, ...presence(volumeId, watched) })
  if (method === 'ControllerUnpublishVolume')
    report({ kind: 'unpublishing', volumeId, nodeId, mountedAt: watched.driver.mountedOn(nodeId, volumeId) })
  if (method === 'CreateSnapshot')
    report({ kind: 'snapshotting', snapshot: String(request['name']), source: String(request['sourceVolumeId']) })
  for (const { metadata, status } of method === 'DeleteSnapshot' ? watched.api.list(VOLUME_SNAPSHOT_CONTENTS) : []) {
    const isKept = status?.snapshotHandle === request['snapshotId'] && !metadata?.deletionTimestamp
    if (isKept) report({ kind: 'snapshotDeleting', id: String(request['snapshotId']), content: metadata?.name ?? '' })
  }
}

function presence(volumeId: string, { api, driver }: Watched): { present: readonly string[]; shared: boolean } {
  const pv = api.list(PERSISTENT_VOLUMES).find(({ spec }) => spec?.csi?.volumeHandle === volumeId)
  const shared = pv?.spec?.accessModes?.includes('ReadWriteMany') === true
  return { present: driver.publishedTo(volumeId), shared }
}
