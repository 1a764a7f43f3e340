import { VolumeCapability_AccessMode_Mode as Mode } from '@csi-sidecars/csi-proto'
import { describe, expect, it } from '@jest/globals'
import type { MountSource, PodMount } from './desired-state.ts'
import { type CallParts, ephemeralRequest, expandRequest, publishRequest, stageRequest } from './requests.ts'

const source: Extract<MountSource, { kind: 'csi' }> = {
  kind: 'csi',
  volumeName: 'kubernetes.io/csi/csi.example.com^vol-1',
  name: 'pv-1',
  csi: { driver: 'csi.example.com', volumeHandle: 'vol-1', fsType: 'xfs', volumeAttributes: { tier: 'gold' } },
  accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
  mountOptions: ['noatime'],
  block: false,
  attach: true,
  claim: 'default/data',
}

const pod: PodMount = {
  podUid: 'uid-app',
  podKey: 'default/app',
  namespace: 'default',
  podName: 'app',
  serviceAccount: 'worker',
  readOnly: true,
  fsGroup: undefined,
}

const callParts: CallParts = {
  publishContext: { device: '/dev/x' },
  stagingTargetPath: '/staging',
  targetPath: '/target',
  singleNodeMultiWriter: false,
  mountGroup: '',
  podInfo: false,
}

const ABOUT_POD = {
  'csi.storage.k8s.io/pod.name': 'app',
  'csi.storage.k8s.io/pod.namespace': 'default',
  'csi.storage.k8s.io/pod.uid': 'uid-app',
  'csi.storage.k8s.io/serviceAccount.name': 'worker',
}

describe('a stage', () => {
  it('a stage request contains the publish context, the volume and its first access mode', () => {
    expect(stageRequest(source, callParts)).toEqual({
      volumeId: 'vol-1',
      publishContext: { device: '/dev/x' },
      stagingTargetPath: '/staging',
      volumeContext: { tier: 'gold' },
      volumeCapability: {
        accessMode: { mode: Mode.SINGLE_NODE_WRITER },
        accessType: { $case: 'mount', value: { fsType: 'xfs', mountFlags: ['noatime'], volumeMountGroup: '' } },
      },
    })
  })

  it('a stage request for a device has no file system', () => {
    expect(stageRequest({ ...source, block: true }, callParts).volumeCapability?.accessType).toEqual({
      $case: 'block',
      value: {},
    })
  })
})

describe('a publish', () => {
  it('a publish request contains the target path and the readonly flag', () => {
    expect(publishRequest(source, pod, callParts)).toMatchObject({
      volumeId: 'vol-1',
      stagingTargetPath: '/staging',
      targetPath: '/target',
      readonly: true,
      volumeContext: { tier: 'gold' },
    })
  })

  it('a publish request describes the pod if the CSIDriver requests this description', () => {
    const { volumeContext } = publishRequest(source, pod, { ...callParts, podInfo: true })
    expect(volumeContext).toEqual({ tier: 'gold', ...ABOUT_POD, 'csi.storage.k8s.io/ephemeral': 'false' })
  })

  it('a publish request for an inline volume has no staging path', () => {
    const source = { driver: 'csi.example.com', volumeAttributes: { size: '1' } }
    const ephemeral = { kind: 'ephemeral' as const, volumeName: 'v', name: 'inline', handle: 'csi-1', source }
    expect(ephemeralRequest(ephemeral, pod, { ...callParts, podInfo: true })).toMatchObject({
      volumeId: 'csi-1',
      publishContext: {},
      stagingTargetPath: '',
      targetPath: '/target',
      volumeContext: { size: '1', ...ABOUT_POD, 'csi.storage.k8s.io/ephemeral': 'true' },
    })
  })
})

describe('an expansion', () => {
  it('an expand request contains the size in bytes', () => {
    expect(expandRequest(source, '2Gi', callParts)).toMatchObject({
      volumeId: 'vol-1',
      volumePath: '/target',
      stagingTargetPath: '/staging',
      capacityRange: { requiredBytes: 2n * 1024n ** 3n, limitBytes: 0n },
    })
  })
})
