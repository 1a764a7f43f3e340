import {
  ControllerExpandVolume,
  ControllerModifyVolume,
  ControllerPublishVolume,
  ControllerUnpublishVolume,
  CreateVolume,
  DeleteVolume,
  ListVolumes,
} from '@csi-sidecars/csi-proto'
import { DriverFailure } from '@csi-sidecars/emulator'
import { HELD_BUGS } from './content-bugs.ts'
import { KILL_BUGS } from './kill-bugs.ts'
import { NODE_BUGS } from './node-bugs.ts'
import { instead, type Planted } from './planted.ts'
import { STRICT_BUGS } from './strict-bugs.ts'

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
  /** The reference driver had it: the source of a clone was not stored with it. */
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
  /** A detach removes the volume from every node, also from a later one. */
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

/** Bugs of a driver, by name. */
export const BUGS: Readonly<Record<string, Planted>> = {
  ...CONTROLLER_BUGS,
  ...NODE_BUGS,
  ...KILL_BUGS,
  ...STRICT_BUGS,
  ...HELD_BUGS,
}
