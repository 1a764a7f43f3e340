import {
  type ControllerModifyVolumeRequest,
  type ControllerPublishVolumeRequest,
  type ControllerPublishVolumeResponse,
  type CreateVolumeRequest,
  type CreateVolumeResponse,
  type DeleteVolumeRequest,
  type ListVolumesRequest,
  type ListVolumesResponse,
  VolumeCapability_AccessMode_Mode as Mode,
  type NodeStageVolumeRequest,
} from '@csi-sidecars/csi-proto'
import { DriverFailure } from '@csi-sidecars/emulator'
import { found, instead, onNodes, type Planted } from './planted.ts'

/** Bugs that no cluster provokes. */
export const STRICT_BUGS: Readonly<Record<string, Planted>> = {
  'two-nodes': found(
    'oneNode',
    instead<ControllerPublishVolumeRequest, ControllerPublishVolumeResponse>(
      'ControllerPublishVolume',
      ({ request, driver }) => {
        const { volumeCapability: capability } = request
        const volumeCapability = capability && { ...capability, accessMode: { mode: Mode.MULTI_NODE_MULTI_WRITER } }
        return driver.own('ControllerPublishVolume', { ...request, volumeCapability })
      },
    ),
  ),
  'delete-of-published': found(
    'inUse',
    instead<DeleteVolumeRequest, object>('DeleteVolume', ({ request, own, driver }) => {
      if (request.volumeId !== '') driver.volumes.delete(request.volumeId)
      return own()
    }),
  ),
  'name-not-required': found(
    'strict',
    instead<CreateVolumeRequest, CreateVolumeResponse>('CreateVolume', ({ request, driver }) =>
      driver.own('CreateVolume', { ...request, name: request.name || 'nameless' }),
    ),
  ),
  'name-with-another-size': found(
    'strict',
    instead<CreateVolumeRequest, CreateVolumeResponse>('CreateVolume', ({ request, driver }) => {
      const known = driver.volumes.named(request.name) !== undefined
      return driver.own('CreateVolume', { ...request, capacityRange: known ? undefined : request.capacityRange })
    }),
  ),
  'unknown-volume-published': found(
    'strict',
    instead<ControllerPublishVolumeRequest, ControllerPublishVolumeResponse>(
      'ControllerPublishVolume',
      ({ request, own, driver }) =>
        request.volumeId !== '' && driver.volumes.get(request.volumeId) === undefined ? { publishContext: {} } : own(),
    ),
  ),
  'unknown-node-published': found(
    'strict',
    instead<ControllerPublishVolumeRequest, ControllerPublishVolumeResponse>(
      'ControllerPublishVolume',
      ({ request, own, driver }) => (driver.settings.nodes?.includes(request.nodeId) ? own() : { publishContext: {} }),
    ),
  ),
  'unknown-parameter-accepted': found(
    'strict',
    instead<ControllerModifyVolumeRequest, object>('ControllerModifyVolume', ({ request, own }) =>
      'tier' in request.mutableParameters || request.volumeId === '' ? own() : {},
    ),
  ),
  'delete-without-volume': found(
    'strict',
    instead<DeleteVolumeRequest, object>('DeleteVolume', ({ request, own }) => (request.volumeId === '' ? {} : own())),
  ),
  'too-large-internal': found(
    'strict',
    instead<CreateVolumeRequest, CreateVolumeResponse>('CreateVolume', ({ request, own }) => {
      if ((request.capacityRange?.requiredBytes ?? 0n) > 2n ** 60n) throw new DriverFailure('INTERNAL', 'overflow')
      return own()
    }),
  ),
  'list-ignores-page-size': found(
    'listed',
    instead<ListVolumesRequest, ListVolumesResponse>('ListVolumes', ({ request, driver }) =>
      driver.own('ListVolumes', { ...request, maxEntries: 0 }),
    ),
  ),
  'list-ends-after-a-page': found(
    'listed',
    instead<ListVolumesRequest, ListVolumesResponse>('ListVolumes', ({ own }) => ({ ...own(), nextToken: '' })),
  ),
  'unknown-token-listed': found(
    'strict',
    instead<ListVolumesRequest, ListVolumesResponse>('ListVolumes', ({ request, own }) =>
      Number.isNaN(Number(request.startingToken)) ? { entries: [], nextToken: '' } : own(),
    ),
  ),
  'stage-without-path': found(
    'strict',
    onNodes<NodeStageVolumeRequest>('NodeStageVolume', ({ request, own }) =>
      request.stagingTargetPath === '' ? {} : own(),
    ),
  ),
}
