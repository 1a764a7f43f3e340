import { VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { ANY, type Cluster, csiNode, DRIVER, pv, runScenario, type Scenario, secret, va } from '@csi-sidecars/testkit'
import { describe, it } from '@jest/globals'
import { runAttacher } from '../src/testing/run-attacher.ts'

const FINALIZER = 'external-attacher/csi-example-com'
const UID = { metadata: { uid: ANY } }
const ADD_VOLUME_FINALIZER = [
  { op: 'test', path: '/metadata/uid', value: ANY },
  { op: 'test', path: '/metadata/finalizers', value: null },
  { op: 'add', path: '/metadata/finalizers', value: [FINALIZER] },
]
const ADD_FINALIZER = [
  { op: 'test', path: '/metadata/uid', value: ANY },
  { op: 'test', path: '/metadata/annotations', value: null },
  { op: 'add', path: '/metadata/annotations', value: { 'csi.alpha.kubernetes.io/node-id': 'node-1-id' } },
  ...ADD_VOLUME_FINALIZER.slice(1),
]
const FINALIZED = {
  finalizers: [FINALIZER],
  annotations: { 'csi.alpha.kubernetes.io/node-id': 'node-1-id' },
  deletionTimestamp: '2026-01-01T00:00:00Z',
}
const FINALIZED_OBJECT = { metadata: { finalizers: [FINALIZER] } }

const scenario = (options: Omit<Scenario, 'run'> & { flags?: readonly string[] }): Promise<void> => {
  const { flags = [], ...rest } = options
  const run = ({ kubeconfig, driver }: Cluster, signal: AbortSignal): Promise<void> =>
    runAttacher({ kubeconfig, socket: driver.socket, flags }, signal)
  return runScenario({ ignoreCalls: ['ListVolumes'], ...rest, run })
}

describe('requests', () => {
  it('an attach adds finalizers, publishes, and writes the status', async () => {
    await scenario({
      initial: { objects: [pv(), csiNode()] },
      when: (cluster) => cluster.add(va()),
      steps: [
        { write: 'PATCH persistentvolumes/pv-1', body: ADD_VOLUME_FINALIZER },
        { write: 'PATCH volumeattachments/va-1', body: ADD_FINALIZER },
        {
          call: 'ControllerPublishVolume',
          request: { volumeId: 'vol-1', nodeId: 'node-1-id', readonly: false, secrets: {}, volumeContext: {} },
          reply: { publishContext: { device: '/dev/x' } },
        },
        {
          write: 'PATCH volumeattachments/va-1/status',
          body: { ...UID, status: { attached: true, attachmentMetadata: { device: '/dev/x' } } },
        },
      ],
    })
  })

  it('a detach unpublishes with the secret of the volume, and writes once', async () => {
    const ref = { spec: { csi: { controllerPublishSecretRef: { name: 'creds', namespace: 'default' } } } }
    await scenario({
      initial: {
        objects: [
          pv('pv-1', { ...FINALIZED_OBJECT, ...ref }),
          secret('creds', { user: 'me' }),
          va('va-1', { metadata: FINALIZED }),
        ],
      },
      steps: [
        {
          call: 'ControllerUnpublishVolume',
          request: { volumeId: 'vol-1', nodeId: 'node-1-id', secrets: { user: 'me' } },
        },
        {
          write: 'PATCH volumeattachments/va-1',
          body: [
            { op: 'test', path: '/metadata/uid', value: ANY },
            { op: 'test', path: '/metadata/finalizers/0', value: FINALIZER },
            { op: 'remove', path: '/metadata/finalizers/0' },
          ],
        },
      ],
    })
  })

  it('if the driver cannot attach, all attachments are marked as attached without a driver call', async () => {
    const body = { ...UID, status: { attached: true } }
    await scenario({
      initial: {
        objects: [pv(), csiNode(), va('va-2', { metadata: FINALIZED })],
        driver: { controller: ['LIST_VOLUMES'] },
      },
      when: async (cluster) => {
        await cluster.api.requests.until({ name: 'va-2', verb: 'patch' })
        cluster.add(va())
      },
      steps: [
        { write: 'PATCH volumeattachments/va-2/status', body },
        { write: 'PATCH volumeattachments/va-1/status', body },
      ],
    })
  })

  it('an in-tree volume gets the finalizer, and is published as its CSI translation', async () => {
    const metadata = { annotations: { 'pv.kubernetes.io/migrated-to': DRIVER } }
    const spec = { csi: null, awsElasticBlockStore: { volumeID: 'aws://zone/vol-7', fsType: 'xfs', partition: 1 } }
    await scenario({
      initial: { objects: [pv('pv-1', { metadata, spec }), csiNode(), va()] },
      steps: [
        { write: 'PATCH persistentvolumes/pv-1', body: ADD_VOLUME_FINALIZER },
        { write: 'PATCH volumeattachments/va-1', body: ADD_FINALIZER },
        {
          call: 'ControllerPublishVolume',
          request: { volumeId: 'vol-7', volumeContext: { partition: '1' } },
          reply: { publishContext: {} },
        },
        { write: 'PATCH volumeattachments/va-1/status', body: { ...UID, status: { attached: true } } },
      ],
    })
  })

  it('an attach of an inline volume writes to no PersistentVolume', async () => {
    const inlineVolumeSpec = { accessModes: ['ReadWriteMany'], csi: { driver: DRIVER, volumeHandle: 'inline-1' } }
    await scenario({
      initial: {
        objects: [csiNode(), va('va-1', { spec: { source: { persistentVolumeName: null, inlineVolumeSpec } } })],
      },
      steps: [
        { write: 'PATCH volumeattachments/va-1', body: ADD_FINALIZER },
        { call: 'ControllerPublishVolume', request: { volumeId: 'inline-1' }, reply: { publishContext: {} } },
        { write: 'PATCH volumeattachments/va-1/status', body: { ...UID, status: { attached: true } } },
      ],
    })
  })

  it('a driver error is stored with its code, and the attach is repeated after the back-off', async () => {
    await scenario({
      flags: ['--retry-interval-start=50ms'],
      initial: { objects: [pv('pv-1', FINALIZED_OBJECT), csiNode(), va()] },
      steps: [
        { write: 'PATCH volumeattachments/va-1', body: ADD_FINALIZER },
        { call: 'ControllerPublishVolume', fail: ['RESOURCE_EXHAUSTED', 'full'] },
        { write: 'PATCH volumeattachments/va-1/status' },
        { call: 'ControllerPublishVolume', reply: { publishContext: {} } },
        {
          write: 'PATCH volumeattachments/va-1/status',
          body: { ...UID, status: { attached: true, attachError: null } },
        },
      ],
      check: ({ api }) => {
        const stored = api.get(VOLUME_ATTACHMENTS, { name: 'va-1' })?.status
        if (stored?.attachError !== undefined) throw new Error('the error outlived the success')
      },
    })
  })
})
