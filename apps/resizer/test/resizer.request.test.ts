import {
  VolumeCapability_AccessMode_Mode as Mode,
  ControllerServiceCapability_RPC_Type as Rpc,
} from '@csi-sidecars/csi-proto'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  SECRETS,
} from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { type ClaimFields, claim, type VolumeFields, volume } from '../src/testing/builders.ts'
import { apiError } from '../src/testing/fake-cluster.ts'
import { ResizerFixture } from '../src/testing/fixture.ts'

const EBS = 'ebs.csi.aws.com'
const RESIZER = 'volume.kubernetes.io/storage-resizer'
const secretRef = { name: 'creds', namespace: 'vault' }

function secret(data: Record<string, string>) {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { ...secretRef, uid: 'u' }, data }
}

interface InitialState {
  readonly volume?: VolumeFields
  readonly claim?: ClaimFields
  readonly driverName?: string
  /** Changes only the cached claim, because the API server would refuse such a claim or fill in its fields. */
  readonly cached?: (claim: PersistentVolumeClaim) => PersistentVolumeClaim
  readonly prepare?: (fixture: ResizerFixture) => void
}

async function expandWith({
  volume: volumeParts,
  claim: claimParts,
  driverName,
  prepare,
  cached,
}: InitialState): Promise<ResizerFixture> {
  const fixture = new ResizerFixture(driverName === undefined ? {} : { driverName })
  fixture.cluster.store(PERSISTENT_VOLUMES, volume(volumeParts))
  fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim({ request: '2Gi', ...claimParts }))
  prepare?.(fixture)
  await fixture.start()
  if (cached === undefined) return fixture
  const cachedClaim = fixture.claim
  const resourceVersion = String(Number(fixture.cluster.server.resourceVersion) + 1)
  fixture.caches.claims.storeAnswer(cached({ ...cachedClaim, metadata: { ...cachedClaim.metadata, resourceVersion } }))
  await fixture.clock.settle()
  return fixture
}

describe('request', () => {
  const mounted = (fsType: string, mountFlags: string[]) => ({
    $case: 'mount',
    value: { fsType, mountFlags, volumeMountGroup: '' },
  })

  it.each<[name: string, initial: InitialState, request: object]>([
    [
      'rounds fractions of a byte up',
      { claim: { request: '1500.5Mi' } },
      { capacityRange: { requiredBytes: 1573388288n, limitBytes: 0n } },
    ],
    [
      'contains the file system type of the volume, without a default',
      {
        volume: {
          spec: {
            csi: { driver: 'csi.example.com', volumeHandle: 'h', fsType: 'xfs' },
            mountOptions: ['ro', 'noatime'],
          },
        },
      },
      {
        volumeId: 'h',
        volumeCapability: {
          accessType: mounted('xfs', ['ro', 'noatime']),
          accessMode: { mode: Mode.SINGLE_NODE_WRITER },
        },
      },
    ],
    [
      'contains no file system type for a block volume',
      { volume: { spec: { volumeMode: 'Block', mountOptions: ['ro'] } } },
      {
        volumeCapability: { accessType: { $case: 'block', value: {} }, accessMode: { mode: Mode.SINGLE_NODE_WRITER } },
      },
    ],
    [
      'contains the access mode SINGLE_NODE_MULTI_WRITER if the driver supports it',
      { prepare: ({ driver }) => driver.controller.add(Rpc.SINGLE_NODE_MULTI_WRITER) },
      { volumeCapability: { accessType: mounted('', []), accessMode: { mode: Mode.SINGLE_NODE_MULTI_WRITER } } },
    ],
  ])('an expansion %s', async (_what, change, request) => {
    const fixture = await expandWith(change)
    expect(fixture.driver.calls[0]?.request).toMatchObject(request)
  })

  it('ControllerExpandVolume contains the Secret of the volume as text', async () => {
    const csi = { driver: 'csi.example.com', volumeHandle: 'h', controllerExpandSecretRef: secretRef }
    const prepare = ({ cluster }: ResizerFixture) =>
      void cluster.store(SECRETS, secret({ user: 'YWxpY2U=', empty: '' }))
    const fixture = await expandWith({ volume: { spec: { csi } }, prepare })
    expect(fixture.driver.calls[0]?.request).toMatchObject({ secrets: { user: 'alice', empty: '' } })
    expect(fixture.cluster.requests.filter(({ resource }) => resource === 'secrets')).toHaveLength(1)
  })

  it('ControllerExpandVolume contains the CSI translation of an in-tree volume, which the API server does not store', async () => {
    const fixture = await expandWith({
      driverName: EBS,
      claim: { annotations: { [RESIZER]: EBS } },
      volume: {
        spec: { csi: undefined, awsElasticBlockStore: { volumeID: 'aws://us-west-2a/vol-1', fsType: 'ext4' } },
      },
    })
    expect(fixture.driver.calls[0]).toMatchObject({ request: { volumeId: 'vol-1' }, options: { migrated: true } })
    expect(fixture.wire[2]).toEqual({
      target: 'persistentvolumes',
      body: { metadata: { uid: 'uid-pv-data' }, spec: { capacity: { storage: '2Gi' } } },
    })
  })

  it('ControllerExpandVolume sends a CSI volume unchanged, even if the claim names the migrated driver', async () => {
    const fixture = await expandWith({
      driverName: EBS,
      claim: { annotations: { [RESIZER]: EBS } },
      volume: { driver: 'odd' },
    })
    expect(fixture.driver.calls[0]).toMatchObject({
      request: { volumeId: 'handle-data' },
      options: { migrated: false },
    })
  })
})

describe('impossible requests', () => {
  const csi = { driver: 'csi.example.com', volumeHandle: 'h', controllerExpandSecretRef: secretRef }

  it.each<[name: string, initial: InitialState, why: string]>([
    [
      'a secret is missing',
      { volume: { spec: { csi } } },
      'error getting secret creds in namespace vault: secrets "creds" not found',
    ],
    [
      'a secret is forbidden',
      {
        volume: { spec: { csi } },
        prepare: ({ cluster }) => {
          cluster.before = ({ resource }) => {
            if (resource === 'secrets') throw apiError(403, 'Forbidden', 'secrets "creds" is forbidden')
          }
        },
      },
      'error getting secret creds in namespace vault: secrets "creds" is forbidden',
    ],
    [
      'the access modes contradict each other',
      { volume: { spec: { accessModes: ['ReadOnlyMany', 'ReadWriteOnce'] } } },
      'failed to get capabilities of volume pv-data with CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume',
    ],
    [
      'the handle is empty',
      { volume: { spec: { csi: { driver: 'csi.example.com', volumeHandle: '' } } } },
      'empty volume handle',
    ],
    [
      'the volume cannot be translated',
      {
        driverName: EBS,
        claim: { annotations: { [RESIZER]: EBS } },
        volume: { spec: { csi: undefined, nfs: { server: 's', path: '/' } } },
      },
      'failed to translate persistent volume: could not find in-tree plugin translation logic for "pv-data"',
    ],
  ])('an expansion records an event and retries without a CSI call if %s', async (_what, change, why) => {
    const fixture = await expandWith(change)
    const { name } = fixture.driver
    expect(fixture.driver.calls).toEqual([])
    expect(fixture.takeWire()).toEqual(['persistentvolumeclaims/status'])
    const message = `resize volume "pv-data" by resizer "${name}" failed: ${why}`
    expect(fixture.takeEvents().at(-1)).toBe(`Warning VolumeResizeFailed: ${message}`)
    expect(fixture.errors).toEqual([`Error syncing PVC: ${message}`])
    await fixture.clock.advance(1_000)
    expect(fixture.takeWire()).toEqual(['persistentvolumeclaims/status'])
  })

  it('an expansion records the marshaling error of gRPC if the Secret contains binary data', async () => {
    const prepare = ({ cluster }: ResizerFixture) => void cluster.store(SECRETS, secret({ key: '//8=' }))
    const fixture = await expandWith({ volume: { spec: { csi } }, prepare })
    expect(fixture.driver.calls).toEqual([])
    expect(fixture.takeEvents().at(-1)).toContain('rpc error: code = Internal desc = grpc: error while marshaling')
    expect(fixture.claim.status?.conditions).toMatchObject([{ type: 'Resizing' }, { type: 'ControllerResizeError' }])
  })
})

describe('invalid objects', () => {
  it.each<[name: string, initial: InitialState, why: string]>([
    [
      'an invalid request',
      {
        claim: { request: '1Gi' },
        cached: (object) => ({ ...object, spec: { ...object.spec, resources: { requests: { storage: '2Kk' } } } }),
      },
      `spec.resources.requests.storage of the claim is "2Kk": unable to parse quantity's suffix`,
    ],
    [
      'a negative capacity',
      { claim: { capacity: '-1Gi' } },
      'status.capacity.storage of the claim is -1Gi, which is less than nothing',
    ],
    [
      'a request that exceeds an int64',
      { claim: { request: '10E' } },
      '10E is more than a CSI driver can be asked for',
    ],
    [
      'a volume of another claim',
      { volume: { uid: 'x' } },
      'PersistentVolume "pv-data" is bound to another claim of this name, with uid x',
    ],
    [
      'a claim without a status',
      {
        claim: { request: '1Gi' },
        cached: ({ spec, metadata }) => ({ metadata, spec: { ...spec, resources: { requests: { storage: '2Gi' } } } }),
      },
      'the claim has no status',
    ],
  ])('the resizer reports %s in an event and in the log, and expands other claims', async (_what, change, why) => {
    const prepare = ({ cluster }: ResizerFixture): void => {
      cluster.store(PERSISTENT_VOLUMES, volume({ name: 'fine' }))
      cluster.store(PERSISTENT_VOLUME_CLAIMS, claim({ name: 'fine', request: '2Gi' }))
    }
    const fixture = await expandWith({ ...change, prepare })
    const message = `resize volume "pv-data" by resizer "csi.example.com" failed: ${why}`
    expect(fixture.takeEvents()).toContain(`Warning VolumeResizeFailed: ${message}`)
    expect(fixture.errors).toEqual([`PVC cannot be resized: ${message}`])
    expect(fixture.driver.calls.map(({ request }) => (request as { volumeId: string }).volumeId)).toEqual([
      'handle-fine',
    ])
  })

  it('the resizer reports a claim with an invalid volume once, although the claim changes', async () => {
    const fixture = await expandWith({ volume: { uid: 'x' } })
    expect(fixture.takeEvents()).toHaveLength(1)
    await fixture.request('3Gi')
    await fixture.request('4Gi')
    expect(fixture.errors).toHaveLength(3)
    expect(fixture.takeEvents()).toEqual([])
  })

  it('the resizer retries a claim with an invalid volume when the volume changes', async () => {
    const fixture = await expandWith({ volume: { uid: 'x' } })
    fixture.cluster.store(PERSISTENT_VOLUMES, volume())
    await fixture.clock.settle()
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })

  it('the resizer expands a bound claim without a capacity', async () => {
    const fixture = await expandWith({ claim: { capacity: null } })
    expect(fixture.claim.status?.capacity).toEqual({ storage: '2Gi' })
  })
})
