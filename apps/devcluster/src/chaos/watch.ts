import type { ApiServer, CsiDriver, DriverCall } from '@csi-sidecars/emulator'
import {
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
} from '@csi-sidecars/kube-types'
import type { Sighting } from './monitor.ts'

export interface Watched {
  readonly api: ApiServer
  readonly driver: CsiDriver
}

/** Tells everything that the monitor has to know, at the moment at which it happens. Returns the undo. */
export function watchAll(watched: Watched, tell: (sighting: Sighting) => void): () => void {
  const { api, driver } = watched
  const handles = new Map<string, string>()
  const undo = [
    api.onChange(PERSISTENT_VOLUMES, ({ type, object }) => {
      const name = object.metadata?.name ?? ''
      handles.set(name, object.spec?.csi?.volumeHandle ?? '')
      const size = object.spec?.capacity?.['storage']
      if (type !== 'DELETED' && size !== undefined) tell({ is: 'size', of: `volume ${name}`, size })
    }),
    api.onChange(PERSISTENT_VOLUME_CLAIMS, ({ type, object }) => {
      const size = object.status?.capacity?.['storage']
      // Of a claim that was made again under an old name the uid differs.
      const of = `claim ${object.metadata?.name} ${object.metadata?.uid}`
      if (type !== 'DELETED' && size !== undefined) tell({ is: 'size', of, size })
    }),
    api.onChange(NODES, ({ object: { metadata, status } }) => {
      const volumesAttached = (status?.volumesAttached ?? []).map(({ name }) => name)
      tell({ is: 'node', node: metadata?.name ?? '', volumesInUse: status?.volumesInUse ?? [], volumesAttached })
    }),
    watchAttachments(api, handles, tell),
    driver.log.subscribe((call) => tellCall(call, watched, tell)),
  ]
  return () => {
    for (const each of undo) each()
  }
}

function watchAttachments(
  api: ApiServer,
  handles: ReadonlyMap<string, string>,
  tell: (sighting: Sighting) => void,
): () => void {
  const deleted = new Set<string>()
  return api.onChange(VOLUME_ATTACHMENTS, ({ type, object }) => {
    const uid = object.metadata?.uid ?? ''
    const about = aboutOf(object, handles)
    if (type === 'ADDED') tell({ is: 'attachmentMade', ...about })
    if (isDeleted(type, object) && !deleted.has(uid)) {
      deleted.add(uid)
      tell({ is: 'attachmentDeleted', ...about })
    }
    if (type === 'DELETED') tell({ is: 'attachmentGone', ...about })
  })
}

function isDeleted(type: string, { metadata }: VolumeAttachment): boolean {
  return type === 'DELETED' || metadata?.deletionTimestamp !== undefined
}

function aboutOf({ metadata, spec }: VolumeAttachment, handles: ReadonlyMap<string, string>) {
  const volumeId = handles.get(spec.source.persistentVolumeName ?? '') ?? ''
  return { name: metadata?.name ?? '', node: spec.nodeName, volumeId }
}

function tellCall(
  { method, request, end, code }: DriverCall,
  watched: Watched,
  tell: (sighting: Sighting) => void,
): void {
  const volumeId = String(request['volumeId'])
  const nodeId = String(request['nodeId'])
  if (method === 'ControllerPublishVolume') {
    if (end === undefined) tell({ is: 'publishing', volumeId, nodeId, ...presence(volumeId, watched) })
    else if (code === 0) tell({ is: 'published', volumeId, nodeId })
  }
  if (method === 'ControllerUnpublishVolume') {
    if (end === undefined)
      tell({ is: 'unpublishing', volumeId, nodeId, mountedAt: mountsOn(nodeId, volumeId, watched) })
    else if (code === 0) tell({ is: 'unpublished', volumeId, nodeId })
  }
}

function presence(volumeId: string, { api, driver }: Watched): { present: readonly string[]; shared: boolean } {
  const volume = driver.volumes.get(volumeId)
  const pv = api.list(PERSISTENT_VOLUMES).find(({ spec }) => spec?.csi?.volumeHandle === volumeId)
  const shared = pv?.spec?.accessModes?.includes('ReadWriteMany') === true
  return { present: [...(volume?.attachments.keys() ?? [])], shared }
}

/** Every node has a folder of its own, named after it; so is its id at the driver. */
function mountsOn(node: string, volumeId: string, { driver }: Watched): readonly string[] {
  const volume = driver.volumes.get(volumeId)
  const paths = [...(volume?.staged.keys() ?? []), ...(volume?.mounted.keys() ?? [])]
  return paths.filter((path) => path.includes(`/${node}/`))
}
