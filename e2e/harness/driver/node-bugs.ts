import { mkdirSync, rmSync } from 'node:fs'
import type {
  NodeExpandVolumeRequest,
  NodeGetVolumeStatsRequest,
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  NodeUnpublishVolumeRequest,
  NodeUnstageVolumeRequest,
} from '@csi-sidecars/csi-proto'
import { type CsiDriver, DriverFailure } from '@csi-sidecars/emulator'

/** A driver with the sockets of its nodes. */
interface WholeDriver {
  readonly controller: CsiDriver
  readonly nodes: readonly CsiDriver[]
}

/** Adds a bug to a driver. */
export type Bug = (driver: WholeDriver) => void

interface Called<Q> {
  readonly request: Q
  /** The correct answer of the node. */
  readonly own: () => object
  readonly node: CsiDriver
}

/** Replaces the answer of the method on each node. */
function onNodes<Q extends object>(method: string, answer: (called: Called<Q>) => object): Bug {
  return ({ nodes }) => {
    for (const node of nodes) {
      node.script(method, (request: Q) => answer({ request, own: () => node.own<Q, object>(method, request), node }))
    }
  }
}

function already(volumeId: string, what: string): never {
  throw new DriverFailure('INTERNAL', `${volumeId} is ${what}`)
}

/** Bugs of a node service, by name. */
export const NODE_BUGS: Readonly<Record<string, Bug>> = {
  'stage-not-idempotent': onNodes<NodeStageVolumeRequest>('NodeStageVolume', ({ request, own, node }) => {
    const { volumeId, stagingTargetPath } = request
    if (node.volumes.get(volumeId)?.staged.has(stagingTargetPath) === true) already(volumeId, 'staged already')
    return own()
  }),
  'unstage-not-idempotent': onNodes<NodeUnstageVolumeRequest>('NodeUnstageVolume', ({ request, own, node }) => {
    const { volumeId, stagingTargetPath } = request
    if (node.volumes.get(volumeId)?.staged.has(stagingTargetPath) !== true) already(volumeId, 'not staged')
    return own()
  }),
  'node-publish-not-idempotent': onNodes<NodePublishVolumeRequest>('NodePublishVolume', ({ request, own, node }) => {
    const { volumeId, targetPath } = request
    if (node.volumes.get(volumeId)?.mounted.has(targetPath) === true) already(volumeId, 'mounted already')
    return own()
  }),
  'node-unpublish-not-idempotent': onNodes<NodeUnpublishVolumeRequest>(
    'NodeUnpublishVolume',
    ({ request, own, node }) => {
      const { volumeId, targetPath } = request
      if (node.volumes.get(volumeId)?.mounted.has(targetPath) !== true) already(volumeId, 'not mounted')
      return own()
    },
  ),
  'target-missing': onNodes<NodePublishVolumeRequest>('NodePublishVolume', ({ request, own }) => {
    const answer = own()
    rmSync(request.targetPath, { recursive: true, force: true })
    return answer
  }),
  'target-left': onNodes<NodeUnpublishVolumeRequest>('NodeUnpublishVolume', ({ request, own }) => {
    const answer = own()
    mkdirSync(request.targetPath, { recursive: true })
    return answer
  }),
  'node-expand-not-idempotent': onNodes<NodeExpandVolumeRequest>('NodeExpandVolume', ({ request, own, node }) => {
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
  'usage-refused': onNodes<NodeGetVolumeStatsRequest>('NodeGetVolumeStats', ({ request }) =>
    already(request.volumeId, 'nowhere'),
  ),
  'inline-left': onNodes<NodeUnpublishVolumeRequest>('NodeUnpublishVolume', ({ request, own, node }) => {
    const inline = request.volumeId.startsWith('csi-')
    const answer = own()
    if (inline) node.volumes.add({ id: request.volumeId, name: request.volumeId, capacityBytes: 0n })
    return answer
  }),
}
