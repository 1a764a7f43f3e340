import type {
  ControllerExpandVolumeRequest,
  ControllerExpandVolumeResponse,
  ControllerPublishVolumeRequest,
  ControllerPublishVolumeResponse,
  ControllerUnpublishVolumeRequest,
  CreateVolumeRequest,
  CreateVolumeResponse,
  DeleteVolumeRequest,
  ListVolumesRequest,
  ListVolumesResponse,
} from '@csi-sidecars/csi-proto'
import { type CsiDriver, DriverFailure } from '@csi-sidecars/emulator'
import { type Bug, NODE_BUGS } from './node-bugs.ts'

/** A call to a driver with a bug. */
interface Called<Q, R> {
  readonly request: Q
  /** The correct answer of the driver. */
  readonly own: () => R
  readonly driver: CsiDriver
}

/** Replaces the answer of the method. */
function instead<Q extends object, R extends object>(method: string, answer: (called: Called<Q, R>) => R): Bug {
  return ({ controller: driver }) =>
    driver.script(method, (request: Q) => answer({ request, own: () => driver.own<Q, R>(method, request), driver }))
}

/** Bugs of a controller service, by name. */
const CONTROLLER_BUGS: Readonly<Record<string, Bug>> = {
  'create-not-idempotent': instead<CreateVolumeRequest, CreateVolumeResponse>(
    'CreateVolume',
    ({ request, own, driver }) => {
      if (driver.volumes.named(request.name) !== undefined) throw new DriverFailure('ALREADY_EXISTS', request.name)
      return own()
    },
  ),
  /** Creates a volume for each call, also for a repeated name. */
  'volume-leaked': instead<CreateVolumeRequest, CreateVolumeResponse>('CreateVolume', ({ request, driver }) => {
    const { id, capacityBytes } = driver.volumes.add({
      name: request.name,
      capacityBytes: request.capacityRange?.requiredBytes ?? 1n,
    })
    const described = { volumeContext: {}, contentSource: undefined, accessibleTopology: [] }
    return { volume: { volumeId: id, capacityBytes, ...described } }
  }),
  'create-too-small': instead<CreateVolumeRequest, CreateVolumeResponse>('CreateVolume', ({ own }) => {
    const { volume } = own()
    return { volume: volume && { ...volume, capacityBytes: volume.capacityBytes / 2n } }
  }),
  'create-again-without-id': instead<CreateVolumeRequest, CreateVolumeResponse>(
    'CreateVolume',
    ({ request, own, driver }) => {
      const known = driver.volumes.named(request.name) !== undefined
      const { volume } = own()
      return { volume: volume && { ...volume, ...(known && { volumeId: '' }) } }
    },
  ),
  'topology-ignored': instead<CreateVolumeRequest, CreateVolumeResponse>('CreateVolume', ({ own }) => {
    const { volume } = own()
    return { volume: volume && { ...volume, accessibleTopology: [{ segments: { zone: 'elsewhere' } }] } }
  }),
  'clone-without-source': instead<CreateVolumeRequest, CreateVolumeResponse>('CreateVolume', ({ own }) => {
    const { volume } = own()
    return { volume: volume && { ...volume, contentSource: undefined } }
  }),
  'delete-not-idempotent': instead<DeleteVolumeRequest, object>('DeleteVolume', ({ request, own, driver }) => {
    driver.volumes.require(request.volumeId)
    return own()
  }),
  'delete-leaves-volume': instead<DeleteVolumeRequest, object>('DeleteVolume', () => ({})),
  /** Fails to attach a volume that is attached already. */
  'publish-not-idempotent': instead<ControllerPublishVolumeRequest, ControllerPublishVolumeResponse>(
    'ControllerPublishVolume',
    ({ request, own, driver }) => {
      const { volumeId, nodeId } = request
      if (driver.volumes.get(volumeId)?.attachments.has(nodeId) === true) {
        throw new DriverFailure('INTERNAL', `${volumeId} is attached to ${nodeId} already`)
      }
      return own()
    },
  ),
  'context-changes': instead<ControllerPublishVolumeRequest, ControllerPublishVolumeResponse>(
    'ControllerPublishVolume',
    ({ own, driver }) => {
      own()
      return { publishContext: { device: `/dev/vd${driver.calls.length}` } }
    },
  ),
  'unpublish-not-idempotent': instead<ControllerUnpublishVolumeRequest, object>(
    'ControllerUnpublishVolume',
    ({ request, own, driver }) => {
      const { volumeId, nodeId } = request
      if (driver.volumes.get(volumeId)?.attachments.has(nodeId) !== true) {
        throw new DriverFailure('NOT_FOUND', `${volumeId} is not attached to ${nodeId}`)
      }
      return own()
    },
  ),
  'unpublish-leaves-volume': instead<ControllerUnpublishVolumeRequest, object>('ControllerUnpublishVolume', () => ({})),
  /** A detach removes the volume from every node, also from a later one. */
  'detach-of-new-attachment': instead<ControllerUnpublishVolumeRequest, object>(
    'ControllerUnpublishVolume',
    ({ request, driver }) => {
      driver.volumes.get(request.volumeId)?.attachments.clear()
      return {}
    },
  ),
  'expand-does-nothing': instead<ControllerExpandVolumeRequest, ControllerExpandVolumeResponse>(
    'ControllerExpandVolume',
    ({ request, driver }) => ({
      capacityBytes: driver.volumes.require(request.volumeId).capacityBytes,
      nodeExpansionRequired: false,
    }),
  ),
  'expand-not-idempotent': instead<ControllerExpandVolumeRequest, ControllerExpandVolumeResponse>(
    'ControllerExpandVolume',
    ({ request, own, driver }) => {
      const { capacityBytes } = driver.volumes.require(request.volumeId)
      if (capacityBytes >= (request.capacityRange?.requiredBytes ?? 0n)) {
        throw new DriverFailure('INVALID_ARGUMENT', `it has ${capacityBytes} bytes already`)
      }
      return own()
    },
  ),
  'list-refused': instead<ListVolumesRequest, ListVolumesResponse>('ListVolumes', () => {
    throw new DriverFailure('UNIMPLEMENTED', 'not yet')
  }),
  'list-without-end': instead<ListVolumesRequest, ListVolumesResponse>('ListVolumes', () => ({
    entries: [],
    nextToken: 'again',
  })),
  'list-without-attached': instead<ListVolumesRequest, ListVolumesResponse>('ListVolumes', ({ own }) => {
    const { entries, nextToken } = own()
    return { entries: entries.filter(({ status }) => status?.publishedNodeIds.length === 0), nextToken }
  }),
}

/** Bugs of a driver, by name. */
export const BUGS: Readonly<Record<string, Bug>> = { ...CONTROLLER_BUGS, ...NODE_BUGS }
