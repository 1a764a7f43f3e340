import { mkdirSync, rmSync } from 'node:fs'
import type {
  NodeExpandVolumeRequest,
  NodeGetVolumeStatsRequest,
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  NodeUnpublishVolumeRequest,
  NodeUnstageVolumeRequest,
} from '@csi-sidecars/csi-proto'
import { DriverFailure } from '@csi-sidecars/emulator'
import { found, onNodes, type Planted } from './planted.ts'

function already(volumeId: string, what: string): never {
  throw new DriverFailure('INTERNAL', `${volumeId} is ${what}`)
}

/** Bugs of a node service, by name. */
export const NODE_BUGS: Readonly<Record<string, Planted>> = {
  'stage-not-idempotent': found(
    'idempotence',
    onNodes<NodeStageVolumeRequest>('NodeStageVolume', ({ request, own, node }) => {
      const { volumeId, stagingTargetPath } = request
      if (node.volumes.get(volumeId)?.staged.has(stagingTargetPath) === true) already(volumeId, 'staged already')
      return own()
    }),
  ),
  'unstage-not-idempotent': found(
    'idempotence',
    onNodes<NodeUnstageVolumeRequest>('NodeUnstageVolume', ({ request, own, node }) => {
      const { volumeId, stagingTargetPath } = request
      if (node.volumes.get(volumeId)?.staged.has(stagingTargetPath) !== true) already(volumeId, 'not staged')
      return own()
    }),
  ),
  'node-publish-not-idempotent': found(
    'idempotence',
    onNodes<NodePublishVolumeRequest>('NodePublishVolume', ({ request, own, node }) => {
      const { volumeId, targetPath } = request
      if (node.volumes.get(volumeId)?.mounted.has(targetPath) === true) already(volumeId, 'mounted already')
      return own()
    }),
  ),
  'node-unpublish-not-idempotent': found(
    'idempotence',
    onNodes<NodeUnpublishVolumeRequest>('NodeUnpublishVolume', ({ request, own, node }) => {
      const { volumeId, targetPath } = request
      if (node.volumes.get(volumeId)?.mounted.has(targetPath) !== true) already(volumeId, 'not mounted')
      return own()
    }),
  ),
  'target-missing': found(
    'placed',
    onNodes<NodePublishVolumeRequest>('NodePublishVolume', ({ request, own }) => {
      const answer = own()
      rmSync(request.targetPath, { recursive: true, force: true })
      return answer
    }),
  ),
  'target-left': found(
    'placed',
    onNodes<NodeUnpublishVolumeRequest>('NodeUnpublishVolume', ({ request, own }) => {
      const answer = own()
      mkdirSync(request.targetPath, { recursive: true })
      return answer
    }),
  ),
  'node-expand-not-idempotent': found(
    'idempotence',
    onNodes<NodeExpandVolumeRequest>('NodeExpandVolume', ({ request, own, node }) => {
      const { volumeId, volumePath } = request
      const before = node.log.matching({ method: 'NodeExpandVolume' }).filter(({ code, request: other }) => {
        return code === 0 && other['volumeId'] === volumeId && other['volumePath'] === volumePath
      })
      const size = request.capacityRange?.requiredBytes
      const same = before.some(({ request: other }) => {
        return (other['capacityRange'] as NodeExpandVolumeRequest['capacityRange'])?.requiredBytes === size
      })
      if (same) already(volumeId, 'expanded already')
      return own()
    }),
  ),
  'usage-refused': found(
    'usage',
    onNodes<NodeGetVolumeStatsRequest>('NodeGetVolumeStats', ({ request }) => already(request.volumeId, 'nowhere')),
  ),
  'inline-unpublish-not-idempotent': found(
    'idempotence',
    onNodes<NodeUnpublishVolumeRequest>('NodeUnpublishVolume', ({ request, own, node }) => {
      const { volumeId, targetPath } = request
      const known = node.volumes.get(volumeId)?.mounted.has(targetPath) === true
      if (volumeId.startsWith('csi-') && !known) throw new DriverFailure('NOT_FOUND', `${volumeId} does not exist`)
      return own()
    }),
  ),
  'inline-left': found(
    'ended',
    onNodes<NodeUnpublishVolumeRequest>('NodeUnpublishVolume', ({ request, own, node }) => {
      const inline = request.volumeId.startsWith('csi-')
      const answer = own()
      if (inline) node.volumes.add({ id: request.volumeId, name: request.volumeId, capacityBytes: 0n })
      return answer
    }),
  ),
}
