import { describe, expect, it } from '@jest/globals'
import { claimProjection } from './claim.ts'
import { nodeProjection } from './node.ts'
import { isTerminated, podProjection } from './pod.ts'
import { classProjection, csiNodeProjection, driverProjection } from './storage.ts'
import { csiSourceOf, isForClaim, volumeProjection } from './volume.ts'

const metadata = { name: 'one', namespace: 'default', uid: 'u', resourceVersion: '7' }

describe('claimProjection', () => {
  it('a cached claim has defaults for missing fields', () => {
    expect(claimProjection({ metadata })).toMatchObject({
      key: 'default/one',
      className: undefined,
      volumeName: '',
      volumeMode: 'Filesystem',
      request: '0',
      phase: 'Pending',
      deleting: false,
    })
  })

  it('an empty class of a claim differs from a missing class, and the old annotation overrides the field', () => {
    const old = { ...metadata, annotations: { 'volume.beta.kubernetes.io/storage-class': 'old' } }
    expect(claimProjection({ metadata, spec: { storageClassName: '' } }).className).toBe('')
    expect(claimProjection({ metadata: old, spec: { storageClassName: 'new' } }).className).toBe('old')
  })

  it('a cached claim keeps the state of its resize', () => {
    const status = {
      capacity: { storage: '1Gi' },
      allocatedResources: { storage: '2Gi' },
      allocatedResourceStatuses: { storage: 'NodeResizePending' },
    }
    expect(claimProjection({ metadata, status })).toMatchObject({
      capacity: '1Gi',
      allocated: '2Gi',
      resizeStatus: 'NodeResizePending',
    })
  })
})

describe('volumeProjection', () => {
  it('a claim reference without a UID reserves the volume, and a claim reference with a UID binds it', () => {
    const reserved = volumeProjection({ metadata, spec: { claimRef: { namespace: 'default', name: 'data', uid: '' } } })
    expect(reserved.claimRef).toEqual({ namespace: 'default', name: 'data', uid: undefined })
    expect(isForClaim(reserved, { key: 'default/data', uid: 'any' })).toBe(true)
    const bound = volumeProjection({ metadata, spec: { claimRef: { namespace: 'default', name: 'data', uid: 'u' } } })
    expect(isForClaim(bound, { key: 'default/data', uid: 'u' })).toBe(true)
    expect(isForClaim(bound, { key: 'default/data', uid: 'another' })).toBe(false)
    expect(isForClaim(bound, { key: 'other/data', uid: 'u' })).toBe(false)
  })

  it('a cached volume has defaults for missing fields', () => {
    expect(volumeProjection({ metadata: { name: 'one' } })).toMatchObject({
      key: 'one',
      phase: 'Pending',
      reclaimPolicy: 'Retain',
      claimRef: undefined,
      csi: undefined,
      migrated: undefined,
      className: '',
    })
  })

  it('a cached volume of a migrated in-tree plugin has its translated source', () => {
    const accessModes = ['ReadWriteOnce']
    const ebs = { volumeID: 'aws://eu-west-1a/vol-7', fsType: 'ext4' }
    const migrated = volumeProjection({ metadata, spec: { accessModes, awsElasticBlockStore: ebs } })
    expect(migrated.csi).toBeUndefined()
    expect(migrated.migrated).toMatchObject({
      csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-7', fsType: 'ext4' },
      accessModes,
    })
    expect(csiSourceOf(migrated)).toBe(migrated.migrated?.csi)
  })

  it('no driver attaches a volume whose in-tree source cannot be translated', () => {
    const awsElasticBlockStore = { volumeID: 'aws://eu-west-1a/' }
    expect(volumeProjection({ metadata, spec: { awsElasticBlockStore } }).migrated).toBeUndefined()
  })

  it('a volume without a driver, such as a folder of a node, has no source for one', () => {
    expect(volumeProjection({ metadata, spec: { hostPath: { path: '/data' } } }).migrated).toBeUndefined()
  })
})

describe('podProjection', () => {
  const spec = {
    nodeName: 'node-1',
    initContainers: [{ name: 'first', volumeMounts: [{ name: 'scratch', mountPath: '/s' }] }],
    containers: [
      {
        name: 'main',
        image: 'none',
        volumeMounts: [{ name: 'data', mountPath: '/d' }],
        volumeDevices: [{ name: 'raw', devicePath: '/dev/x' }],
      },
    ],
    volumes: [
      { name: 'data', persistentVolumeClaim: { claimName: 'data', readOnly: true } },
      { name: 'own', ephemeral: { volumeClaimTemplate: { spec: {} } } },
      { name: 'inline', csi: { driver: 'd' } },
      { name: 'scratch', emptyDir: {} },
      { name: 'settings', configMap: { name: 'c' } },
      { name: 'nothing' },
    ],
  }

  it('a cached pod distinguishes claims, inline CSI volumes, and volumes that the node provides', () => {
    expect(podProjection({ metadata, spec }).volumes).toEqual([
      { kind: 'claim', name: 'data', claim: 'data', readOnly: true, ephemeral: false },
      { kind: 'claim', name: 'own', claim: 'one-own', readOnly: false, ephemeral: true },
      { kind: 'csi', name: 'inline', source: { driver: 'd' } },
      { kind: 'local', name: 'scratch', plugin: 'emptyDir' },
      { kind: 'local', name: 'settings', plugin: 'configMap' },
      { kind: 'local', name: 'nothing', plugin: 'emptyDir' },
    ])
  })

  it('a cached pod keeps the mounts and devices of all containers', () => {
    const { use } = podProjection({ metadata, spec })
    expect([[...use.mounts], [...use.devices]]).toEqual([['scratch', 'data'], ['raw']])
  })

  const running = { containerStatuses: [{ name: 'main', state: { running: { startedAt: 'now' } } }] }
  const rows: [string, object, object, boolean][] = [
    ['is new', {}, {}, false],
    ['runs', {}, { phase: 'Running' }, false],
    ['has succeeded', {}, { phase: 'Succeeded' }, true],
    ['has failed', {}, { phase: 'Failed' }, true],
    ['is deleted while its containers run', { deletionTimestamp: 'now' }, { phase: 'Running', ...running }, false],
    ['is deleted and never ran', { deletionTimestamp: 'now' }, { phase: 'Pending' }, true],
  ]
  it.each(rows)('the cache decides whether a pod that %s is terminated', (_, more, status, ended) => {
    const pod = podProjection({ metadata: { ...metadata, ...more }, spec, status } as Parameters<
      typeof podProjection
    >[0])
    expect(isTerminated(pod)).toBe(ended)
  })
})

describe('nodeProjection', () => {
  const annotated = { name: 'n', annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' } }
  it('the attach/detach controller manages a node only if the annotation of its kubelet is `true`', () => {
    expect(nodeProjection({ metadata: { name: 'n' } }).managed).toBe(false)
    expect(nodeProjection({ metadata: annotated }).managed).toBe(true)
  })

  it.each([
    ['True', true],
    ['False', false],
    ['Unknown', false],
  ])('a node is ready only if the condition Ready is True: %s', (status, ready) => {
    expect(nodeProjection({ metadata: { name: 'n' }, status: { conditions: [{ type: 'Ready', status }] } }).ready).toBe(
      ready,
    )
  })
})

describe('storage objects', () => {
  it('a cached class keeps the volume binding mode and has defaults for missing fields', () => {
    const waits = { metadata, provisioner: 'd', volumeBindingMode: 'WaitForFirstConsumer' }
    expect(classProjection(waits).waitsForConsumer).toBe(true)
    expect(classProjection({ metadata, provisioner: 'd' })).toMatchObject({
      waitsForConsumer: false,
      isDefault: false,
    })
  })

  it('a driver needs attach unless its CSIDriver declares otherwise', () => {
    expect(driverProjection({ metadata, spec: {} }).attachRequired).toBe(true)
    expect(driverProjection({ metadata, spec: { attachRequired: false } }).attachRequired).toBe(false)
  })

  it('a cached CSINode keeps the node ID and the volume limit of each driver', () => {
    const drivers = [
      { name: 'a', nodeID: 'id-a', allocatable: { count: 3 } },
      { name: 'b', nodeID: 'id-b' },
    ]
    expect(csiNodeProjection({ metadata: { name: 'n' }, spec: { drivers } }).drivers).toEqual(
      new Map([
        ['a', { nodeId: 'id-a', most: 3 }],
        ['b', { nodeId: 'id-b', most: undefined }],
      ]),
    )
  })
})
