import { describe, expect, it } from '@jest/globals'
import { claim, DRIVER, node, storageClass } from '../testing/objects.ts'
import { classParameters } from './parameters.ts'
import {
  createVolumeRequest,
  decideProvision,
  type ProvisionView,
  provisionedVolume,
  topologyFor,
} from './provision.ts'

const ASKED = { 'volume.kubernetes.io/storage-provisioner': DRIVER }
const asking = claim({ annotations: ASKED })

const view = (change: Partial<ProvisionView> = {}): ProvisionView => ({
  claim: asking,
  storageClass: storageClass(),
  driverName: DRIVER,
  isProvisioned: false,
  uncertain: false,
  ...change,
})

describe('decideProvision', () => {
  const waits = storageClass({ waitsForConsumer: true })
  const rows: [string, Partial<ProvisionView>, 'nothing' | 'provision'][] = [
    ['provisions for a claim that asks for it', {}, 'provision'],
    [
      'reads the older annotation too',
      { claim: claim({ annotations: { 'volume.beta.kubernetes.io/storage-provisioner': DRIVER } }) },
      'provision',
    ],
    ['leaves a claim alone that names no provisioner', { claim: claim() }, 'nothing'],
    ['leaves a claim of another driver alone', { driverName: 'other' }, 'nothing'],
    ['does nothing for a claim that has a volume', { claim: { ...asking, volumeName: 'pv-1' } }, 'nothing'],
    ['does nothing more once the volume is there', { isProvisioned: true }, 'nothing'],
    ['does nothing without the class', { storageClass: undefined }, 'nothing'],
    ['makes nothing for a claim that is being deleted', { claim: { ...asking, deleting: true } }, 'nothing'],
    [
      'finishes what may have been begun for it',
      { claim: { ...asking, deleting: true }, uncertain: true },
      'provision',
    ],
    ['waits for a node where the class does', { storageClass: waits }, 'nothing'],
    [
      'continues when the node is chosen',
      {
        storageClass: waits,
        claim: claim({ annotations: { ...ASKED, 'volume.kubernetes.io/selected-node': 'node-1' } }),
      },
      'provision',
    ],
  ]
  it.each(rows)('%s', (_, change, done) => {
    expect(decideProvision(view(change)).do).toBe(done)
  })
})

const NO_PARAMETERS = classParameters({}, asking, 'pvc-uid-data')

describe('createVolumeRequest', () => {
  const request = (change: Partial<Parameters<typeof createVolumeRequest>[0]> = {}) =>
    createVolumeRequest({
      claim: asking,
      parameters: NO_PARAMETERS,
      mountOptions: [],
      singleNodeMultiWriter: false,
      topology: undefined,
      source: undefined,
      mutableParameters: {},
      ...change,
    })

  it("always asks under the claim's own name", () => {
    expect(request()).toEqual({
      name: 'pvc-uid-data',
      capacityRange: { requiredBytes: 1024n ** 3n, limitBytes: 0n },
      volumeCapabilities: [
        {
          accessType: { $case: 'mount', value: { fsType: '', mountFlags: [], volumeMountGroup: '' } },
          accessMode: { mode: 1 },
        },
      ],
      parameters: {},
      volumeContentSource: undefined,
      accessibilityRequirements: undefined,
      mutableParameters: {},
    })
  })

  it('asks for each access mode', () => {
    const { volumeCapabilities } = request({ claim: { ...asking, accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] } })
    expect(volumeCapabilities.map(({ accessMode }) => accessMode?.mode)).toEqual([1, 3])
  })

  it('asks for a block volume', () => {
    const { volumeCapabilities } = request({ claim: { ...asking, volumeMode: 'Block' } })
    expect(volumeCapabilities[0]?.accessType).toEqual({ $case: 'block', value: {} })
  })
})

describe('topologyFor', () => {
  const csiNode = {
    key: 'node-1',
    resourceVersion: '1',
    uid: 'u',
    drivers: new Map([[DRIVER, { nodeId: 'n', topologyKeys: ['zone'], most: undefined }]]),
  }

  it('returns the labels of the selected node for the topology keys of the driver', () => {
    expect(topologyFor(DRIVER, node({ labels: { zone: 'a', other: 'x' } }), csiNode)).toEqual({
      requisite: [{ segments: { zone: 'a' } }],
      preferred: [{ segments: { zone: 'a' } }],
    })
  })

  it('returns undefined without a node or without topology keys of the driver', () => {
    expect([topologyFor(DRIVER, undefined, csiNode), topologyFor('other', node(), csiNode)]).toEqual([
      undefined,
      undefined,
    ])
  })
})

describe('provisionedVolume', () => {
  const created = {
    volumeId: 'vol-1',
    capacityBytes: 2n * 1024n ** 3n,
    volumeContext: { a: 'b' },
    contentSource: undefined,
    accessibleTopology: [],
  }
  const volume = (change: Partial<Parameters<typeof provisionedVolume>[0]> = {}) =>
    provisionedVolume({
      claim: asking,
      storageClass: storageClass(),
      parameters: NO_PARAMETERS,
      driverName: DRIVER,
      created,
      identity: 'me',
      ...change,
    })

  it('describes the created volume and refers to the claim', () => {
    expect(volume()).toEqual({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: {
        name: 'pvc-uid-data',
        annotations: { 'pv.kubernetes.io/provisioned-by': DRIVER },
        finalizers: ['external-provisioner.volume.kubernetes.io/finalizer'],
      },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '2Gi' },
        volumeMode: 'Filesystem',
        persistentVolumeReclaimPolicy: 'Delete',
        storageClassName: 'fast',
        claimRef: {
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          namespace: 'default',
          name: 'data',
          uid: 'uid-data',
        },
        csi: {
          driver: DRIVER,
          volumeHandle: 'vol-1',
          volumeAttributes: { a: 'b', 'storage.kubernetes.io/csiProvisionerIdentity': 'me' },
        },
      },
    })
  })

  it('uses the requested size if the driver reports no size', () => {
    expect(volume({ created: { ...created, capacityBytes: 0n } }).spec?.capacity).toEqual({ storage: '1Gi' })
  })

  it('adds no finalizer if the class retains its volumes', () => {
    expect(volume({ storageClass: storageClass({ reclaimPolicy: 'Retain' }) }).metadata?.finalizers).toBeUndefined()
  })

  it('names the secrets for those who will need them', () => {
    const secret = (use: string) => ({
      [`csi.storage.k8s.io/${use}-secret-name`]: use,
      [`csi.storage.k8s.io/${use}-secret-namespace`]: 'n',
    })
    const parameters = classParameters(
      { ...secret('provisioner'), ...secret('controller-expand'), ...secret('controller-modify') },
      asking,
      'pvc-uid-data',
    )
    const { metadata, spec } = volume({ parameters })
    expect(spec?.csi?.controllerExpandSecretRef).toEqual({ name: 'controller-expand', namespace: 'n' })
    expect(metadata?.annotations).toMatchObject({
      'volume.kubernetes.io/provisioner-deletion-secret-name': 'provisioner',
      'volume.kubernetes.io/controller-modify-secret-name': 'controller-modify',
    })
  })

  it('says from where it can be reached', () => {
    const { spec } = volume({ created: { ...created, accessibleTopology: [{ segments: { zone: 'a' } }] } })
    expect(spec?.nodeAffinity).toEqual({
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }] },
    })
  })
})
