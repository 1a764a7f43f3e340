import { volumeCapabilityOf } from '@csi-sidecars/csi'
import type {
  NodeExpandVolumeRequest,
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  VolumeCapability,
} from '@csi-sidecars/csi-proto'
import { Quantity } from '@csi-sidecars/kube-types'
import type { CsiSource, EphemeralSource, PodMount } from './desired-state.ts'

/** The parts of NodeStageVolume and NodePublishVolume requests that come from the node and the pod. */
export interface CallParts {
  readonly publishContext: Readonly<Record<string, string>>
  /** The staging path; empty if the driver does not stage volumes. */
  readonly stagingTargetPath: string
  readonly targetPath: string
  readonly singleNodeMultiWriter: boolean
  readonly podInfo: boolean
  /** The Unix group to which the driver gives the volume; empty if the driver does not set a group. */
  readonly mountGroup: string
}

type Grouping = Pick<CallParts, 'singleNodeMultiWriter' | 'mountGroup'>

/** Returns the capability in a request. It contains the first access mode of the volume, as in kubelet. */
function capabilityOf(source: CsiSource, grouping: Grouping): VolumeCapability {
  const { accessModes, block, csi, mountOptions } = source
  const use = { accessModes: accessModes.slice(0, 1), volumeMode: block ? 'Block' : 'Filesystem', mountOptions }
  return withGroup(volumeCapabilityOf({ ...use, fsType: csi.fsType }, grouping.singleNodeMultiWriter), grouping)
}

function withGroup(capability: VolumeCapability, { mountGroup }: Grouping): VolumeCapability {
  const { accessType } = capability
  if (mountGroup === '' || accessType?.$case !== 'mount') return capability
  return { ...capability, accessType: { ...accessType, value: { ...accessType.value, volumeMountGroup: mountGroup } } }
}

export function stageRequest(source: CsiSource, deps: CallParts): Omit<NodeStageVolumeRequest, 'secrets'> {
  return {
    volumeId: source.csi.volumeHandle,
    publishContext: { ...deps.publishContext },
    stagingTargetPath: deps.stagingTargetPath,
    volumeCapability: capabilityOf(source, deps),
    volumeContext: { ...source.csi.volumeAttributes },
  }
}

export function publishRequest(
  source: CsiSource,
  pod: PodMount,
  deps: CallParts,
): Omit<NodePublishVolumeRequest, 'secrets'> {
  const { stagingTargetPath, targetPath } = deps
  const podInfo = deps.podInfo ? podAttributes(pod, false) : {}
  return {
    ...stageRequest(source, deps),
    stagingTargetPath,
    targetPath,
    readonly: pod.readOnly,
    volumeContext: { ...source.csi.volumeAttributes, ...podInfo },
  }
}

export function ephemeralRequest(
  { handle, source }: EphemeralSource,
  pod: PodMount,
  deps: CallParts,
): Omit<NodePublishVolumeRequest, 'secrets'> {
  const { targetPath, podInfo, singleNodeMultiWriter } = deps
  const use = { accessModes: ['ReadWriteOnce'], fsType: source.fsType }
  return {
    volumeId: handle,
    publishContext: {},
    stagingTargetPath: '',
    targetPath,
    volumeCapability: withGroup(volumeCapabilityOf(use, singleNodeMultiWriter), deps),
    readonly: pod.readOnly,
    volumeContext: { ...source.volumeAttributes, ...(podInfo ? podAttributes(pod, true) : {}) },
  }
}

/** Returns the attributes of the pod that a driver receives if its CSIDriver requests them. */
function podAttributes(
  { podName, namespace, podUid, serviceAccount }: PodMount,
  ephemeral: boolean,
): Record<string, string> {
  return {
    'csi.storage.k8s.io/pod.name': podName,
    'csi.storage.k8s.io/pod.namespace': namespace,
    'csi.storage.k8s.io/pod.uid': podUid,
    'csi.storage.k8s.io/serviceAccount.name': serviceAccount,
    'csi.storage.k8s.io/ephemeral': String(ephemeral),
  }
}

export function expandRequest(
  source: CsiSource,
  size: string,
  deps: CallParts,
): Omit<NodeExpandVolumeRequest, 'secrets'> {
  return {
    volumeId: source.csi.volumeHandle,
    volumePath: deps.targetPath,
    capacityRange: { requiredBytes: Quantity.parse(size).bytes(), limitBytes: 0n },
    stagingTargetPath: deps.stagingTargetPath,
    volumeCapability: capabilityOf(source, deps),
  }
}
