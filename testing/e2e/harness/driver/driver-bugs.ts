import { mkdirSync, rmSync } from 'node:fs'
import process from 'node:process'
import {
  ControllerExpandVolume,
  ControllerModifyVolume,
  ControllerPublishVolume,
  ControllerUnpublishVolume,
  CreateVolume,
  DeleteVolume,
  ListVolumes,
  VolumeCapability_AccessMode_Mode as Mode,
  NodeExpandVolume,
  type NodeExpandVolumeRequest,
  NodeGetVolumeStats,
  NodePublishVolume,
  NodeStageVolume,
  NodeUnpublishVolume,
  NodeUnstageVolume,
  type UnaryMethod,
} from '@csi-sidecars/csi-proto'
import { type CsiDriver, DriverFailure } from '@csi-sidecars/emulator'
import type { CHECKS } from '../../../../desk/driver-test/src/checks/checks.ts'
import { CONTENT_BUGS, type ContentBug, keepContents } from '../../../../desk/driver-test/src/testing/contents.ts'
import { MOUNTS } from '../../../../desk/driver-test/src/testing/placing.ts'
import {
  keepSnapshots,
  SNAPSHOT_BUGS,
  SNAPSHOTS,
  type SnapshotBug,
} from '../../../../desk/driver-test/src/testing/snapshots.ts'

/** The controller service and the node services of one CSI driver. */
interface WholeDriver {
  readonly controller: CsiDriver
  readonly nodes: readonly CsiDriver[]
}

/** Adds a bug to a driver. */
type Bug = (driver: WholeDriver) => void

/** The parameters of a function that replaces the driver's answer to a call. */
interface Called<Q, R> {
  readonly request: Q
  /** Returns the answer that the driver would give without the bug. */
  readonly own: () => R
  readonly driver: CsiDriver
}

/** A bug of a driver, and the name of the driver check that must detect the bug. */
interface Planted {
  readonly check: keyof typeof CHECKS
  readonly put: Bug
  /** True if the bug concerns snapshots or the data in volumes. */
  readonly holds?: boolean
}

function found(check: Planted['check'], put: Bug): Planted {
  return { check, put }
}

/** Returns a bug that replaces the answer of one method of the controller service. */
function instead<Q extends object, R extends object>(
  check: Planted['check'],
  method: UnaryMethod<Q, R>,
  answer: (called: Called<Q, R>) => R,
): Planted {
  return found(check, ({ controller }) => replace(controller, method, answer))
}

/** Returns a bug that replaces the answer of one method of each node service. */
function onNodes<Q extends object, R extends object>(
  check: Planted['check'],
  method: UnaryMethod<Q, R>,
  answer: (called: Called<Q, R>) => R,
): Planted {
  return found(check, ({ nodes }) => {
    for (const node of nodes) replace(node, method, answer)
  })
}

function replace<Q extends object, R extends object>(
  driver: CsiDriver,
  { path }: UnaryMethod<Q, R>,
  answer: (called: Called<Q, R>) => R,
): void {
  const method = path.slice(path.lastIndexOf('/') + 1)
  driver.script(method, (request: Q) =>
    answer({ request, own: () => driver.usualAnswer<Q, R>(method, request), driver }),
  )
}

/** True if this process can mount file systems, which needs root on Linux. */
const CAN_MOUNT = process.platform === 'linux' && process.getuid?.() === 0

/** Bugs that concern snapshots or the data in volumes. */
const HELD_BUGS: Readonly<Record<string, Planted>> = Object.fromEntries(
  Object.entries({ ...SNAPSHOT_BUGS, ...(CAN_MOUNT ? CONTENT_BUGS : {}) }).map(([name, check]) => [
    name,
    { check, holds: true, put: () => undefined },
  ]),
)

/** Makes the driver store snapshots in a file that survives the driver. If it can mount, it also stores volume data. */
export function hold({ controller: driver, nodes }: WholeDriver, folder: string, bug: string | undefined): void {
  driver.settings.controller = [...driver.settings.controller, ...SNAPSHOTS]
  const known = isIn(SNAPSHOT_BUGS, bug) ? bug : undefined
  keepSnapshots(driver, { file: `${folder}-snapshots.json`, bug: known, readyAfter: 2 })
  if (!CAN_MOUNT) return
  for (const node of nodes) node.settings.node = [...node.settings.node, 'VOLUME_MOUNT_GROUP']
  keepContents({ driver, nodes }, { folder, placing: MOUNTS, bug: isIn(CONTENT_BUGS, bug) ? bug : undefined })
}

function isIn<K extends ContentBug | SnapshotBug>(bugs: Readonly<Record<K, unknown>>, bug = ''): bug is K {
  return Object.hasOwn(bugs, bug)
}

/** Bugs that show when the driver restarts. They take effect after the driver has read its saved state. */
const KILL_BUGS: Readonly<Record<string, Planted>> = {
  'attachments-lost-at-kill': found('kept', ({ controller }) => {
    for (const { attachments } of controller.volumes.all) attachments.clear()
  }),
  'volumes-lost-at-kill': found('kept', ({ controller }) => {
    for (const { id } of controller.volumes.all) controller.volumes.delete(id)
  }),
  'stages-lost-at-kill': found('kept', (whole) => {
    for (const { staged } of whole.controller.volumes.all) staged.clear()
    onNodes('kept', NodePublishVolume, ({ request, own, driver }) => {
      const { volumeId, stagingTargetPath: path } = request
      if (path !== '' && driver.volumes.get(volumeId)?.staged.has(path) !== true) {
        throw new DriverFailure('FAILED_PRECONDITION', `${volumeId} is not staged`)
      }
      return own()
    }).put(whole)
  }),
  /** Simulates a driver that cannot read its stored state and exits. */
  'never-starts-again': found('alive', ({ controller }) => {
    if (controller.volumes.all.length > 0) process.exit(3)
  }),
  'ends-at-clone': instead('alive', CreateVolume, ({ request, own }) => {
    if (request.volumeContentSource !== undefined) process.exit(3)
    return own()
  }),
}

function already(volumeId: string, what: string): never {
  throw new DriverFailure('INTERNAL', `${volumeId} is ${what}`)
}

/** Bugs of a node service, by name. */
const NODE_BUGS: Readonly<Record<string, Planted>> = {
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

/** Bugs that show only in calls that Kubernetes does not send. */
const STRICT_BUGS: Readonly<Record<string, Planted>> = {
  'two-nodes': instead('oneNode', ControllerPublishVolume, ({ request, driver }) => {
    const { volumeCapability: capability } = request
    const volumeCapability = capability && { ...capability, accessMode: { mode: Mode.MULTI_NODE_MULTI_WRITER } }
    return driver.usualAnswer('ControllerPublishVolume', { ...request, volumeCapability })
  }),
  'delete-of-published': instead('inUse', DeleteVolume, ({ request, own, driver }) => {
    if (request.volumeId !== '') driver.volumes.delete(request.volumeId)
    return own()
  }),
  'name-not-required': instead('strict', CreateVolume, ({ request, driver }) =>
    driver.usualAnswer('CreateVolume', { ...request, name: request.name || 'nameless' }),
  ),
  'name-with-another-size': instead('strict', CreateVolume, ({ request, driver }) => {
    const known = driver.volumes.named(request.name) !== undefined
    return driver.usualAnswer('CreateVolume', { ...request, capacityRange: known ? undefined : request.capacityRange })
  }),
  'unknown-volume-published': instead('strict', ControllerPublishVolume, ({ request, own, driver }) =>
    request.volumeId !== '' && driver.volumes.get(request.volumeId) === undefined ? { publishContext: {} } : own(),
  ),
  'unknown-node-published': instead('strict', ControllerPublishVolume, ({ request, own, driver }) =>
    driver.settings.nodes?.includes(request.nodeId) ? own() : { publishContext: {} },
  ),
  'unknown-parameter-accepted': instead('strict', ControllerModifyVolume, ({ request, own }) =>
    'tier' in request.mutableParameters || request.volumeId === '' ? own() : {},
  ),
  'delete-without-volume': instead('strict', DeleteVolume, ({ request, own }) =>
    request.volumeId === '' ? {} : own(),
  ),
  'too-large-internal': instead('strict', CreateVolume, ({ request, own }) => {
    if ((request.capacityRange?.requiredBytes ?? 0n) > 2n ** 60n) throw new DriverFailure('INTERNAL', 'overflow')
    return own()
  }),
  'list-ignores-page-size': instead('listed', ListVolumes, ({ request, driver }) =>
    driver.usualAnswer('ListVolumes', { ...request, maxEntries: 0 }),
  ),
  'list-ends-after-a-page': instead('listed', ListVolumes, ({ own }) => ({ ...own(), nextToken: '' })),
  'unknown-token-listed': instead('strict', ListVolumes, ({ request, own }) =>
    Number.isNaN(Number(request.startingToken)) ? { entries: [], nextToken: '' } : own(),
  ),
  'stage-without-path': onNodes('strict', NodeStageVolume, ({ request, own }) =>
    request.stagingTargetPath === '' ? {} : own(),
  ),
}

/** Bugs of a controller service, by name. */
const CONTROLLER_BUGS: Readonly<Record<string, Planted>> = {
  'create-not-idempotent': instead('idempotence', CreateVolume, ({ request, own, driver }) => {
    if (driver.volumes.named(request.name) !== undefined) throw new DriverFailure('ALREADY_EXISTS', request.name)
    return own()
  }),
  /** Creates a volume for each call, also for a repeated name. */
  'volume-leaked': instead('noLeak', CreateVolume, ({ request, driver }) => {
    const { id, capacityBytes } = driver.volumes.add({
      name: request.name,
      capacityBytes: request.capacityRange?.requiredBytes ?? 1n,
    })
    const described = { volumeContext: {}, contentSource: undefined, accessibleTopology: [] }
    return { volume: { volumeId: id, capacityBytes, ...described } }
  }),
  'create-too-small': instead('capacity', CreateVolume, ({ own }) => {
    const { volume } = own()
    return { volume: volume && { ...volume, capacityBytes: volume.capacityBytes / 2n } }
  }),
  'create-again-without-id': instead('named', CreateVolume, ({ request, own, driver }) => {
    const known = driver.volumes.named(request.name) !== undefined
    const { volume } = own()
    return { volume: volume && { ...volume, ...(known && { volumeId: '' }) } }
  }),
  'topology-ignored': instead('reach', CreateVolume, ({ own }) => {
    const { volume } = own()
    return { volume: volume && { ...volume, accessibleTopology: [{ segments: { zone: 'elsewhere' } }] } }
  }),
  'clone-without-source': instead('content', CreateVolume, ({ own }) => {
    const { volume } = own()
    return { volume: volume && { ...volume, contentSource: undefined } }
  }),
  /** The driver csi-driver-host-path had this bug: it did not store the source of a clone. */
  'clone-not-idempotent': instead('idempotence', CreateVolume, ({ request, own, driver }) => {
    if (request.volumeContentSource !== undefined && driver.volumes.named(request.name) !== undefined) {
      throw new DriverFailure('ALREADY_EXISTS', 'existing volume source volume id not matching')
    }
    return own()
  }),
  'delete-not-idempotent': instead('idempotence', DeleteVolume, ({ request, own, driver }) => {
    driver.volumes.require(request.volumeId)
    return own()
  }),
  'delete-leaves-volume': instead('ended', DeleteVolume, () => ({})),
  /** Fails to attach a volume that is attached already. */
  'publish-not-idempotent': instead('idempotence', ControllerPublishVolume, ({ request, own, driver }) => {
    const { volumeId, nodeId } = request
    if (driver.volumes.get(volumeId)?.attachments.has(nodeId) === true) {
      throw new DriverFailure('INTERNAL', `${volumeId} is attached to ${nodeId} already`)
    }
    return own()
  }),
  'context-changes': instead('context', ControllerPublishVolume, ({ own, driver }) => {
    own()
    return { publishContext: { device: `/dev/vd${driver.calls.length}` } }
  }),
  'unpublish-not-idempotent': instead('idempotence', ControllerUnpublishVolume, ({ request, own, driver }) => {
    const { volumeId, nodeId } = request
    if (driver.volumes.get(volumeId)?.attachments.has(nodeId) !== true) {
      throw new DriverFailure('NOT_FOUND', `${volumeId} is not attached to ${nodeId}`)
    }
    return own()
  }),
  'unpublish-leaves-volume': instead('ended', ControllerUnpublishVolume, () => ({})),
  /** A detach removes the volume from all nodes, also from a node to which it was attached later. */
  'detach-of-new-attachment': instead('kept', ControllerUnpublishVolume, ({ request, driver }) => {
    driver.volumes.get(request.volumeId)?.attachments.clear()
    return {}
  }),
  'expand-does-nothing': instead('capacity', ControllerExpandVolume, ({ request, driver }) => ({
    capacityBytes: driver.volumes.require(request.volumeId).capacityBytes,
    nodeExpansionRequired: false,
  })),
  'expand-not-idempotent': instead('idempotence', ControllerExpandVolume, ({ request, own, driver }) => {
    const { capacityBytes } = driver.volumes.require(request.volumeId)
    if (capacityBytes >= (request.capacityRange?.requiredBytes ?? 0n)) {
      throw new DriverFailure('INVALID_ARGUMENT', `it has ${capacityBytes} bytes already`)
    }
    return own()
  }),
  'modify-not-idempotent': instead('idempotence', ControllerModifyVolume, ({ request, own, driver }) => {
    const { tier } = driver.volumes.get(request.volumeId)?.mutableParameters ?? {}
    if (tier !== undefined && tier === request.mutableParameters['tier']) {
      throw new DriverFailure('ALREADY_EXISTS', `${request.volumeId} is ${tier} already`)
    }
    return own()
  }),
  /** After one refused modification of a volume, fails every later modification that sets `tier`. */
  'modify-stuck-after-refusal': instead('converges', ControllerModifyVolume, ({ request, own, driver }) => {
    const refused = driver.log.matching({ method: 'ControllerModifyVolume', volumeId: request.volumeId, code: 3 })
    if (refused.length > 0 && 'tier' in request.mutableParameters) {
      throw new DriverFailure('INTERNAL', `${request.volumeId} was not modified`)
    }
    return own()
  }),
  'list-with-old-size': instead('capacity', ListVolumes, ({ own }) => {
    const { entries, nextToken } = own()
    const smaller = entries.map(({ volume, status }) => ({
      volume: volume && { ...volume, capacityBytes: 1n },
      status,
    }))
    return { entries: smaller, nextToken }
  }),
  'list-refused': instead('listed', ListVolumes, () => {
    throw new DriverFailure('UNIMPLEMENTED', 'not yet')
  }),
  'list-without-end': instead('listed', ListVolumes, () => ({
    entries: [],
    nextToken: 'again',
  })),
  'list-without-attached': instead('kept', ListVolumes, ({ own }) => {
    const { entries, nextToken } = own()
    return { entries: entries.filter(({ status }) => status?.publishedNodeIds.length === 0), nextToken }
  }),
}

/** All bugs of a driver, by name. */
export const BUGS: Readonly<Record<string, Planted>> = {
  ...CONTROLLER_BUGS,
  ...NODE_BUGS,
  ...KILL_BUGS,
  ...STRICT_BUGS,
  ...HELD_BUGS,
}
