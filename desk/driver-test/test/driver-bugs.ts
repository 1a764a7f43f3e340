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
import type { CHECKS } from '../src/checks/checks.ts'
import { CONTENT_BUGS, type ContentBug, keepContents } from '../src/testing/contents.ts'
import { MOUNTS } from '../src/testing/placing.ts'
import { keepSnapshots, SNAPSHOT_BUGS, SNAPSHOTS, type SnapshotBug } from '../src/testing/snapshots.ts'

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
  readonly correctAnswer: () => R
  readonly driver: CsiDriver
}

/** A bug of a driver, and the name of the driver check that must detect the bug. */
interface Planted {
  readonly check: keyof typeof CHECKS
  readonly plant: Bug
  /** True if the bug concerns snapshots or the data in volumes. */
  readonly holds?: boolean
}

function found(check: Planted['check'], plant: Bug): Planted {
  return { check, plant }
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
    answer({ request, correctAnswer: () => driver.usualAnswer<Q, R>(method, request), driver }),
  )
}

/** True if this process can mount file systems, which needs root on Linux. */
const CAN_MOUNT = process.platform === 'linux' && process.getuid?.() === 0

/** Bugs that concern snapshots or the data in volumes. */
const HELD_BUGS: Readonly<Record<string, Planted>> = Object.fromEntries(
  Object.entries({ ...SNAPSHOT_BUGS, ...(CAN_MOUNT ? CONTENT_BUGS : {}) }).map(([name, check]) => [
    name,
    { check, holds: true, plant: () => undefined },
  ]),
)

/** Makes the driver store snapshots in a file that survives the driver. If it can mount, it also stores volume data. */
export function hold({ controller: driver, nodes }: WholeDriver, folder: string, bug: string | undefined): void {
  driver.settings.controller = [...driver.settings.controller, ...SNAPSHOTS]
  const snapshotBug = isIn(SNAPSHOT_BUGS, bug) ? bug : undefined
  keepSnapshots(driver, { file: `${folder}-snapshots.json`, bug: snapshotBug, readyAfter: 2 })
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
  'stages-lost-at-kill': found('kept', (wholeDriver) => {
    for (const { staged } of wholeDriver.controller.volumes.all) staged.clear()
    onNodes('kept', NodePublishVolume, ({ request, correctAnswer, driver }) => {
      const { volumeId, stagingTargetPath: path } = request
      if (path !== '' && driver.volumes.get(volumeId)?.staged.has(path) !== true) {
        throw new DriverFailure('FAILED_PRECONDITION', `${volumeId} is not staged`)
      }
      return correctAnswer()
    }).plant(wholeDriver)
  }),
  /** Simulates a driver that cannot read its stored state and exits. */
  'never-starts-again': found('alive', ({ controller }) => {
    if (controller.volumes.all.length > 0) process.exit(3)
  }),
  'ends-at-clone': instead('alive', CreateVolume, ({ request, correctAnswer }) => {
    if (request.volumeContentSource !== undefined) process.exit(3)
    return correctAnswer()
  }),
}

function already(volumeId: string, state: string): never {
  throw new DriverFailure('INTERNAL', `${volumeId} is ${state}`)
}

/** Bugs of a node service, by name. */
const NODE_BUGS: Readonly<Record<string, Planted>> = {
  'stage-not-idempotent': onNodes('idempotence', NodeStageVolume, ({ request, correctAnswer, driver }) => {
    const { volumeId, stagingTargetPath } = request
    if (driver.volumes.get(volumeId)?.staged.has(stagingTargetPath) === true) already(volumeId, 'staged already')
    return correctAnswer()
  }),
  'unstage-not-idempotent': onNodes('idempotence', NodeUnstageVolume, ({ request, correctAnswer, driver }) => {
    const { volumeId, stagingTargetPath } = request
    if (driver.volumes.get(volumeId)?.staged.has(stagingTargetPath) !== true) already(volumeId, 'not staged')
    return correctAnswer()
  }),
  'node-publish-not-idempotent': onNodes('idempotence', NodePublishVolume, ({ request, correctAnswer, driver }) => {
    const { volumeId, targetPath } = request
    if (driver.volumes.get(volumeId)?.mounted.has(targetPath) === true) already(volumeId, 'mounted already')
    return correctAnswer()
  }),
  'node-unpublish-not-idempotent': onNodes('idempotence', NodeUnpublishVolume, ({ request, correctAnswer, driver }) => {
    const { volumeId, targetPath } = request
    if (driver.volumes.get(volumeId)?.mounted.has(targetPath) !== true) already(volumeId, 'not mounted')
    return correctAnswer()
  }),
  'target-missing': onNodes('placed', NodePublishVolume, ({ request, correctAnswer }) => {
    const answer = correctAnswer()
    rmSync(request.targetPath, { recursive: true, force: true })
    return answer
  }),
  'target-left': onNodes('placed', NodeUnpublishVolume, ({ request, correctAnswer }) => {
    const answer = correctAnswer()
    mkdirSync(request.targetPath, { recursive: true })
    return answer
  }),
  'node-expand-not-idempotent': onNodes('idempotence', NodeExpandVolume, ({ request, correctAnswer, driver }) => {
    const { volumeId, volumePath } = request
    const before = driver.log.matching({ method: 'NodeExpandVolume' }).filter(({ code, request: other }) => {
      return code === 0 && other['volumeId'] === volumeId && other['volumePath'] === volumePath
    })
    const size = request.capacityRange?.requiredBytes
    const same = before.some(({ request: other }) => {
      return (other['capacityRange'] as NodeExpandVolumeRequest['capacityRange'])?.requiredBytes === size
    })
    if (same) already(volumeId, 'expanded already')
    return correctAnswer()
  }),
  'usage-refused': onNodes('usage', NodeGetVolumeStats, ({ request }) => already(request.volumeId, 'nowhere')),
  'inline-unpublish-not-idempotent': onNodes(
    'idempotence',
    NodeUnpublishVolume,
    ({ request, correctAnswer, driver }) => {
      const { volumeId, targetPath } = request
      const isMounted = driver.volumes.get(volumeId)?.mounted.has(targetPath) === true
      if (volumeId.startsWith('csi-') && !isMounted) throw new DriverFailure('NOT_FOUND', `${volumeId} does not exist`)
      return correctAnswer()
    },
  ),
  'inline-left': onNodes('ended', NodeUnpublishVolume, ({ request, correctAnswer, driver }) => {
    const inline = request.volumeId.startsWith('csi-')
    const answer = correctAnswer()
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
  'delete-of-published': instead('inUse', DeleteVolume, ({ request, correctAnswer, driver }) => {
    if (request.volumeId !== '') driver.volumes.delete(request.volumeId)
    return correctAnswer()
  }),
  'name-not-required': instead('strict', CreateVolume, ({ request, driver }) =>
    driver.usualAnswer('CreateVolume', { ...request, name: request.name || 'nameless' }),
  ),
  'name-with-another-size': instead('strict', CreateVolume, ({ request, driver }) => {
    const exists = driver.volumes.named(request.name) !== undefined
    return driver.usualAnswer('CreateVolume', { ...request, capacityRange: exists ? undefined : request.capacityRange })
  }),
  'unknown-volume-published': instead('strict', ControllerPublishVolume, ({ request, correctAnswer, driver }) =>
    request.volumeId !== '' && driver.volumes.get(request.volumeId) === undefined
      ? { publishContext: {} }
      : correctAnswer(),
  ),
  'unknown-node-published': instead('strict', ControllerPublishVolume, ({ request, correctAnswer, driver }) =>
    driver.settings.nodes?.includes(request.nodeId) ? correctAnswer() : { publishContext: {} },
  ),
  'unknown-parameter-accepted': instead('strict', ControllerModifyVolume, ({ request, correctAnswer }) =>
    'tier' in request.mutableParameters || request.volumeId === '' ? correctAnswer() : {},
  ),
  'delete-without-volume': instead('strict', DeleteVolume, ({ request, correctAnswer }) =>
    request.volumeId === '' ? {} : correctAnswer(),
  ),
  'too-large-internal': instead('strict', CreateVolume, ({ request, correctAnswer }) => {
    if ((request.capacityRange?.requiredBytes ?? 0n) > 2n ** 60n) throw new DriverFailure('INTERNAL', 'overflow')
    return correctAnswer()
  }),
  'list-ignores-page-size': instead('listed', ListVolumes, ({ request, driver }) =>
    driver.usualAnswer('ListVolumes', { ...request, maxEntries: 0 }),
  ),
  'list-ends-after-a-page': instead('listed', ListVolumes, ({ correctAnswer }) => ({
    ...correctAnswer(),
    nextToken: '',
  })),
  'unknown-token-listed': instead('strict', ListVolumes, ({ request, correctAnswer }) =>
    Number.isNaN(Number(request.startingToken)) ? { entries: [], nextToken: '' } : correctAnswer(),
  ),
  'stage-without-path': onNodes('strict', NodeStageVolume, ({ request, correctAnswer }) =>
    request.stagingTargetPath === '' ? {} : correctAnswer(),
  ),
}

/** Bugs of a controller service, by name. */
const CONTROLLER_BUGS: Readonly<Record<string, Planted>> = {
  'create-not-idempotent': instead('idempotence', CreateVolume, ({ request, correctAnswer, driver }) => {
    if (driver.volumes.named(request.name) !== undefined) throw new DriverFailure('ALREADY_EXISTS', request.name)
    return correctAnswer()
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
  'create-too-small': instead('capacity', CreateVolume, ({ correctAnswer }) => {
    const { volume } = correctAnswer()
    return { volume: volume && { ...volume, capacityBytes: volume.capacityBytes / 2n } }
  }),
  'create-again-without-id': instead('named', CreateVolume, ({ request, correctAnswer, driver }) => {
    const exists = driver.volumes.named(request.name) !== undefined
    const { volume } = correctAnswer()
    return { volume: volume && { ...volume, ...(exists && { volumeId: '' }) } }
  }),
  'topology-ignored': instead('reach', CreateVolume, ({ correctAnswer }) => {
    const { volume } = correctAnswer()
    return { volume: volume && { ...volume, accessibleTopology: [{ segments: { zone: 'elsewhere' } }] } }
  }),
  'clone-without-source': instead('content', CreateVolume, ({ correctAnswer }) => {
    const { volume } = correctAnswer()
    return { volume: volume && { ...volume, contentSource: undefined } }
  }),
  /** The driver csi-driver-host-path had this bug: it did not store the source of a clone. */
  'clone-not-idempotent': instead('idempotence', CreateVolume, ({ request, correctAnswer, driver }) => {
    if (request.volumeContentSource !== undefined && driver.volumes.named(request.name) !== undefined) {
      throw new DriverFailure('ALREADY_EXISTS', 'existing volume source volume id not matching')
    }
    return correctAnswer()
  }),
  'delete-not-idempotent': instead('idempotence', DeleteVolume, ({ request, correctAnswer, driver }) => {
    driver.volumes.require(request.volumeId)
    return correctAnswer()
  }),
  'delete-leaves-volume': instead('ended', DeleteVolume, () => ({})),
  /** Fails to attach a volume that is attached already. */
  'publish-not-idempotent': instead('idempotence', ControllerPublishVolume, ({ request, correctAnswer, driver }) => {
    const { volumeId, nodeId } = request
    if (driver.volumes.get(volumeId)?.attachments.has(nodeId) === true) {
      throw new DriverFailure('INTERNAL', `${volumeId} is attached to ${nodeId} already`)
    }
    return correctAnswer()
  }),
  'context-changes': instead('context', ControllerPublishVolume, ({ correctAnswer, driver }) => {
    correctAnswer()
    return { publishContext: { device: `/dev/vd${driver.calls.length}` } }
  }),
  'unpublish-not-idempotent': instead(
    'idempotence',
    ControllerUnpublishVolume,
    ({ request, correctAnswer, driver }) => {
      const { volumeId, nodeId } = request
      if (driver.volumes.get(volumeId)?.attachments.has(nodeId) !== true) {
        throw new DriverFailure('NOT_FOUND', `${volumeId} is not attached to ${nodeId}`)
      }
      return correctAnswer()
    },
  ),
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
  'expand-not-idempotent': instead('idempotence', ControllerExpandVolume, ({ request, correctAnswer, driver }) => {
    const { capacityBytes } = driver.volumes.require(request.volumeId)
    if (capacityBytes >= (request.capacityRange?.requiredBytes ?? 0n)) {
      throw new DriverFailure('INVALID_ARGUMENT', `it has ${capacityBytes} bytes already`)
    }
    return correctAnswer()
  }),
  'modify-not-idempotent': instead('idempotence', ControllerModifyVolume, ({ request, correctAnswer, driver }) => {
    const { tier } = driver.volumes.get(request.volumeId)?.mutableParameters ?? {}
    if (tier !== undefined && tier === request.mutableParameters['tier']) {
      throw new DriverFailure('ALREADY_EXISTS', `${request.volumeId} is ${tier} already`)
    }
    return correctAnswer()
  }),
  /** After one refused modification of a volume, fails every later modification that sets `tier`. */
  'modify-stuck-after-refusal': instead('converges', ControllerModifyVolume, ({ request, correctAnswer, driver }) => {
    const refused = driver.log.matching({ method: 'ControllerModifyVolume', volumeId: request.volumeId, code: 3 })
    if (refused.length > 0 && 'tier' in request.mutableParameters) {
      throw new DriverFailure('INTERNAL', `${request.volumeId} was not modified`)
    }
    return correctAnswer()
  }),
  'list-with-old-size': instead('capacity', ListVolumes, ({ correctAnswer }) => {
    const { entries, nextToken } = correctAnswer()
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
  'list-without-attached': instead('kept', ListVolumes, ({ correctAnswer }) => {
    const { entries, nextToken } = correctAnswer()
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
