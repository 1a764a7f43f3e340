import { PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { ANY, bound, type Cluster, runScenario, type Scenario, secret, storageClass, vac } from '@csi-sidecars/testkit'
import { describe, it } from '@jest/globals'
import { runResizer } from '../src/testing/run-resizer.ts'

const REF = { namespace: 'default', name: 'pvc-1' }
const CLAIM = 'PATCH persistentvolumeclaims/default/pvc-1/status'
const VOLUME = 'PATCH persistentvolumes/pv-1'
const NOT_REQUIRED = 'volume.kubernetes.io/node-expansion-not-required'
const PRE_RESIZE = 'volume.alpha.kubernetes.io/pre-resize-capacity'
const RESIZING = { type: 'Resizing', status: 'True', lastProbeTime: null, lastTransitionTime: ANY }
const MARKED = {
  metadata: { resourceVersion: ANY },
  status: {
    allocatedResources: { storage: '2Gi' },
    allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
    conditions: [RESIZING],
  },
}

const { claim, volume } = bound({
  volume: { spec: { csi: { controllerExpandSecretRef: { name: 'creds', namespace: 'default' } } } },
})
const initialState = { objects: [storageClass(), claim, volume, secret('creds', { user: 'me' })] }

const scenario = (model: Omit<Scenario, 'run'> & { flags?: readonly string[] }): Promise<void> => {
  const { flags = [], ...rest } = model
  const run = ({ kubeconfig, driver }: Cluster, signal: AbortSignal): Promise<void> =>
    runResizer({ kubeconfig, socket: driver.socket, flags }, signal)
  return runScenario({ timeoutMs: 30_000, ...rest, run })
}

const ask =
  (change: object) =>
  (cluster: Cluster): void => {
    cluster.api.update(PERSISTENT_VOLUME_CLAIMS, REF, (object) => ({ ...object, spec: { ...object.spec, ...change } }))
  }
const raise = ask({ resources: { requests: { storage: '2Gi' } } })

const EXPAND = {
  call: 'ControllerExpandVolume',
  request: {
    volumeId: 'vol-1',
    capacityRange: { requiredBytes: 2n ** 31n, limitBytes: 0n },
    secrets: { user: 'me' },
  },
}

describe('requests', () => {
  it('an expansion patches the claim, calls the driver, and patches the volume and the claim', async () => {
    await scenario({
      initial: initialState,
      when: raise,
      steps: [
        { write: CLAIM, body: MARKED },
        { ...EXPAND, reply: { capacityBytes: 2n ** 31n, nodeExpansionRequired: false } },
        { write: VOLUME, body: { metadata: { uid: ANY }, spec: { capacity: { storage: '2Gi' } } } },
        {
          write: CLAIM,
          body: {
            metadata: { resourceVersion: ANY, annotations: { [NOT_REQUIRED]: 'true' } },
            status: {
              capacity: { storage: '2Gi' },
              allocatedResourceStatuses: { storage: null },
              conditions: [{ $patch: 'delete', type: 'Resizing' }],
            },
          },
        },
      ],
    })
  })

  it('an expansion that the kubelet must finish stores the old size on the volume', async () => {
    await scenario({
      initial: initialState,
      when: raise,
      steps: [
        { write: CLAIM, body: MARKED },
        { ...EXPAND, reply: { capacityBytes: 2n ** 31n, nodeExpansionRequired: true } },
        {
          write: VOLUME,
          body: {
            metadata: { uid: ANY, annotations: { [PRE_RESIZE]: '1Gi' } },
            spec: { capacity: { storage: '2Gi' } },
          },
        },
        { write: CLAIM },
      ],
    })
  })

  it('an expansion makes no call if the driver expands volumes on nodes only', async () => {
    await scenario({
      initial: { ...initialState, driver: { controller: [], node: ['EXPAND_VOLUME'] } },
      when: raise,
      steps: [{ write: CLAIM, body: MARKED }, { write: VOLUME }, { write: CLAIM }],
    })
  })

  it('the patch after a refusal of the driver has no `resourceVersion`', async () => {
    await scenario({
      initial: initialState,
      flags: ['--retry-interval-start=1h', '--retry-interval-max=1h'],
      when: raise,
      steps: [
        { write: CLAIM, body: MARKED },
        { ...EXPAND, fail: ['OUT_OF_RANGE', 'too much'] },
        {
          write: CLAIM,
          body: {
            metadata: { uid: ANY },
            status: {
              allocatedResourceStatuses: { storage: 'ControllerResizeInfeasible' },
              '$setElementOrder/conditions': [{ type: 'Resizing' }, { type: 'ControllerResizeError' }],
              conditions: [
                {
                  ...RESIZING,
                  type: 'ControllerResizeError',
                  message: 'failed to expand pvc with rpc error: code = OutOfRange desc = too much',
                },
              ],
            },
          },
        },
      ],
    })
  })

  it('a modification patches the claim, calls the driver, and patches the volume and the claim', async () => {
    await scenario({
      initial: { objects: [...initialState.objects, vac('gold', { parameters: { iops: '9' } })] },
      flags: ['--extra-modify-metadata'],
      when: ask({ volumeAttributesClassName: 'gold' }),
      steps: [
        {
          write: CLAIM,
          body: {
            metadata: { resourceVersion: ANY },
            status: {
              modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' },
              conditions: [
                {
                  type: 'ModifyingVolume',
                  status: 'True',
                  lastProbeTime: ANY,
                  lastTransitionTime: ANY,
                  message: 'Modifying volume to "gold" is in progress.',
                },
              ],
            },
          },
        },
        {
          call: 'ControllerModifyVolume',
          request: {
            volumeId: 'vol-1',
            secrets: { user: 'me' },
            mutableParameters: {
              iops: '9',
              'csi.storage.k8s.io/pvc/name': 'pvc-1',
              'csi.storage.k8s.io/pvc/namespace': 'default',
              'csi.storage.k8s.io/pv/name': 'pv-1',
            },
          },
          reply: {},
        },
        { write: VOLUME, body: { metadata: { uid: ANY }, spec: { volumeAttributesClassName: 'gold' } } },
        {
          write: CLAIM,
          body: {
            metadata: { uid: ANY },
            status: {
              currentVolumeAttributesClassName: 'gold',
              modifyVolumeStatus: null,
              conditions: [{ $patch: 'delete', type: 'ModifyingVolume' }],
            },
          },
        },
      ],
    })
  })

  it('the resizer modifies no volume if the feature gate VolumeAttributesClass is off', async () => {
    await scenario({
      initial: { objects: [...initialState.objects, vac('gold')] },
      flags: ['--feature-gates=VolumeAttributesClass=false'],
      when: (cluster) => {
        ask({ volumeAttributesClassName: 'gold' })(cluster)
        raise(cluster)
      },
      steps: [
        { write: CLAIM, body: MARKED },
        { ...EXPAND, reply: { capacityBytes: 2n ** 31n, nodeExpansionRequired: false } },
        { write: VOLUME },
        { write: CLAIM },
      ],
    })
  })
})
