import {
  ControllerModifyVolume,
  ControllerPublishVolume,
  CreateVolume,
  DeleteVolume,
  ListVolumes,
  VolumeCapability_AccessMode_Mode as Mode,
  NodeStageVolume,
} from '@csi-sidecars/csi-proto'
import { DriverFailure } from '@csi-sidecars/emulator'
import { instead, onNodes, type Planted } from './planted.ts'

/** Bugs that no cluster provokes. */
export const STRICT_BUGS: Readonly<Record<string, Planted>> = {
  'two-nodes': instead('oneNode', ControllerPublishVolume, ({ request, driver }) => {
    const { volumeCapability: capability } = request
    const volumeCapability = capability && { ...capability, accessMode: { mode: Mode.MULTI_NODE_MULTI_WRITER } }
    return driver.own('ControllerPublishVolume', { ...request, volumeCapability })
  }),
  'delete-of-published': instead('inUse', DeleteVolume, ({ request, own, driver }) => {
    if (request.volumeId !== '') driver.volumes.delete(request.volumeId)
    return own()
  }),
  'name-not-required': instead('strict', CreateVolume, ({ request, driver }) =>
    driver.own('CreateVolume', { ...request, name: request.name || 'nameless' }),
  ),
  'name-with-another-size': instead('strict', CreateVolume, ({ request, driver }) => {
    const known = driver.volumes.named(request.name) !== undefined
    return driver.own('CreateVolume', { ...request, capacityRange: known ? undefined : request.capacityRange })
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
    driver.own('ListVolumes', { ...request, maxEntries: 0 }),
  ),
  'list-ends-after-a-page': instead('listed', ListVolumes, ({ own }) => ({ ...own(), nextToken: '' })),
  'unknown-token-listed': instead('strict', ListVolumes, ({ request, own }) =>
    Number.isNaN(Number(request.startingToken)) ? { entries: [], nextToken: '' } : own(),
  ),
  'stage-without-path': onNodes('strict', NodeStageVolume, ({ request, own }) =>
    request.stagingTargetPath === '' ? {} : own(),
  ),
}
