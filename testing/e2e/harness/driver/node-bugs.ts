import { mkdirSync, rmSync } from 'node:fs'
import {
  NodeExpandVolume,
  type NodeExpandVolumeRequest,
  NodeGetVolumeStats,
  NodePublishVolume,
  NodeStageVolume,
  NodeUnpublishVolume,
  NodeUnstageVolume,
} from '@csi-sidecars/csi-proto'
import { DriverFailure } from '@csi-sidecars/emulator'
import { onNodes, type Planted } from './planted.ts'

function already(volumeId: string, what: string): never {
  throw new DriverFailure('INTERNAL', `${volumeId} is ${what}`)
}

/** Bugs of a node service, by name. */
export const NODE_BUGS: Readonly<Record<string, Planted>> = {
  'stage-not-idempotent': onNodes('idempotence', NodeStageVolume, ({ request, own, driver }) => {
    const { volumeId, stagingTargetPath } = request
    if (driver.volumes.get(volumeId)?.staged.has(stagingTargetPath) === true) already(volumeId, 'staged already')
    return own()
  }),
  'unstage-not-idempotent': onNodes('idempotence', NodeUnstageVolume, ({ request, own, driver }) => {
    const { volumeId, stagingTargetPath } = request
    if (driver.volumes.get(volumeId)?.staged.has(stagingTargetPath) !== true) already(volumeId, 'not staged')
    return own()
  }),
  'node-publish-not-idempotent': onNodes('idempotence', NodePublishVolume, ({ request, own, driver }) => {
    const { volumeId, targetPath } = request
    if (driver.volumes.get(volumeId)?.mounted.has(targetPath) === true) already(volumeId, 'mounted already')
    return own()
  }),
  'node-unpublish-not-idempotent': onNodes('idempotence', NodeUnpublishVolume, ({ request, own, driver }) => {
    const { volumeId, targetPath } = request
    if (driver.volumes.get(volumeId)?.mounted.has(targetPath) !== true) already(volumeId, 'not mounted')
    return own()
  }),
  'target-missing': onNodes('placed', NodePublishVolume, ({ request, own }) => {
    const answer = own()
    rmSync(request.targetPath, { recursive: true, force: true })
    return answer
  }),
  'target-left': onNodes('placed', NodeUnpublishVolume, ({ request, own }) => {
    const answer = own()
    mkdirSync(request.targetPath, { recursive: true })
    return answer
  }),
  'node-expand-not-idempotent': onNodes('idempotence', NodeExpandVolume, ({ request, own, driver }) => {
    const { volumeId, volumePath } = request
    const before = driver.log.matching({ method: 'NodeExpandVolume' }).filter(({ code, request: other }) => {
      return code === 0 && other['volumeId'] === volumeId && other['volumePath'] === volumePath
    })
    const size = request.capacityRange?.requiredBytes
    const same = before.some(({ request: other }) => {
      return (other['capacityRange'] as NodeExpandVolumeRequest['capacityRange'])?.requiredBytes === size
    })
    if (same) already(volumeId, 'expanded already')
    return own()
  }),
  'usage-refused': onNodes('usage', NodeGetVolumeStats, ({ request }) => already(request.volumeId, 'nowhere')),
  'inline-unpublish-not-idempotent': onNodes('idempotence', NodeUnpublishVolume, ({ request, own, driver }) => {
    const { volumeId, targetPath } = request
    const known = driver.volumes.get(volumeId)?.mounted.has(targetPath) === true
    if (volumeId.startsWith('csi-') && !known) throw new DriverFailure('NOT_FOUND', `${volumeId} does not exist`)
    return own()
  }),
  'inline-left': onNodes('ended', NodeUnpublishVolume, ({ request, own, driver }) => {
    const inline = request.volumeId.startsWith('csi-')
    const answer = own()
    if (inline) driver.volumes.add({ id: request.volumeId, name: request.volumeId, capacityBytes: 0n })
    return answer
  }),
}
