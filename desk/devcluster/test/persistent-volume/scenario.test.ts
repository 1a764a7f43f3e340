import {
  EVENTS,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PODS,
  STORAGE_CLASSES,
} from '@csi-sidecars/kube-types'
import { describe, expect, it, jest } from '@jest/globals'
import { claimOf, inDefault, podOf, startTestCluster, type TestCluster } from '../../src/testing/cluster.ts'

jest.setTimeout(20_000)

const volumesOnly = (): Promise<TestCluster> =>
  startTestCluster({ controllers: ['persistent-volume'], substitutes: [] })

function volumeOf(name: string, spec: Partial<PersistentVolume['spec']> = {}): PersistentVolume {
  return {
    metadata: { name },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      storageClassName: 'fast',
      persistentVolumeReclaimPolicy: 'Retain',
      csi: { driver: 'csi.example.com', volumeHandle: `handle-${name}` },
      ...spec,
    },
  }
}

const isIn = (phase: string) => (object: { status?: { phase?: string | undefined } | undefined }) =>
  object.status?.phase === phase
const isBound = isIn('Bound') as (object: PersistentVolumeClaim) => boolean

describe('persistentVolumeControllers', () => {
  it('the persistent volume controller binds a claim to the smallest volume that fits', async () => {
    await using test = await volumesOnly()
    const { client } = test.cluster
    for (const [name, storage] of Object.entries({ 'pv-big': '5Gi', 'pv-fit': '2Gi', 'pv-small': '1Gi' })) {
      await client.create(PERSISTENT_VOLUMES, volumeOf(name, { capacity: { storage } }))
    }
    await test.untilAll(PERSISTENT_VOLUMES, (volumes) => volumes.every(isIn('Available')))
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data', { size: '2Gi' }))
    const claim = await test.until(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), isBound)
    expect(claim).toMatchObject({
      metadata: {
        annotations: { 'pv.kubernetes.io/bind-completed': 'yes', 'pv.kubernetes.io/bound-by-controller': 'yes' },
      },
      spec: { volumeName: 'pv-fit' },
      status: { accessModes: ['ReadWriteOnce'], capacity: { storage: '2Gi' } },
    })
    expect(test.api.get(PERSISTENT_VOLUMES, { name: 'pv-fit' })).toMatchObject({
      spec: { claimRef: { namespace: 'default', name: 'data', uid: claim.metadata?.uid } },
      status: { phase: 'Bound' },
    })
  })

  it('the persistent volume controller binds a waiting claim as soon as a volume is created', async () => {
    await using test = await volumesOnly()
    const { client } = test.cluster
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data', { spec: { storageClassName: '' } }))
    await test.api.requests.until({ verb: 'create', resource: 'events' })
    await client.create(PERSISTENT_VOLUMES, volumeOf('pv-1', { storageClassName: '' }))
    await test.until(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), isBound)
  })

  it('the persistent volume controller binds six claims to six volumes if all are created at once', async () => {
    await using test = await volumesOnly()
    const { client } = test.cluster
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    await Promise.all(names.map((name) => client.create(PERSISTENT_VOLUMES, volumeOf(`pv-${name}`))))
    await Promise.all(names.map((name) => client.create(PERSISTENT_VOLUME_CLAIMS, claimOf(name))))
    await test.untilAll(PERSISTENT_VOLUME_CLAIMS, (claims) => claims.length === 6 && claims.every(isBound))
    expect(new Set(test.api.list(PERSISTENT_VOLUME_CLAIMS).map(({ spec }) => spec?.volumeName)).size).toBe(6)
  })

  it('the persistent volume controller binds a claim and a volume if the user has set the reference in one of them', async () => {
    await using test = await volumesOnly()
    const { client } = test.cluster
    await client.create(PERSISTENT_VOLUMES, volumeOf('pv-a', { claimRef: { namespace: 'default', name: 'a' } }))
    await client.create(PERSISTENT_VOLUMES, volumeOf('pv-b'))
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('b', { spec: { volumeName: 'pv-b' } }))
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('a'))
    await test.until(PERSISTENT_VOLUME_CLAIMS, inDefault('a'), isBound)
    await test.until(PERSISTENT_VOLUME_CLAIMS, inDefault('b'), isBound)
    const ofUser = test.api.get(PERSISTENT_VOLUMES, { name: 'pv-a' })?.metadata?.annotations ?? {}
    expect([test.api.get(PERSISTENT_VOLUME_CLAIMS, inDefault('a'))?.spec?.volumeName, ofUser]).toEqual(['pv-a', {}])
  })

  it('the persistent volume controller does not bind a retained volume again after its claim is deleted', async () => {
    await using test = await volumesOnly()
    const { client } = test.cluster
    await client.create(PERSISTENT_VOLUMES, volumeOf('pv-1'))
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    await test.until(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), isBound)
    await client.delete(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))
    await test.until(PERSISTENT_VOLUMES, { name: 'pv-1' }, isIn('Released'))
    // The next claim must not get the volume, because it still has the data of another claim.
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data', { spec: { storageClassName: '' } }))
    await test.api.requests.until({ verb: 'create', resource: 'events' })
    expect(test.api.get(PERSISTENT_VOLUMES, { name: 'pv-1' })?.status?.phase).toBe('Released')
  })

  it('the persistent volume controller releases a volume whose claim is deleted before the claim is bound', async () => {
    await using test = await volumesOnly()
    const { client } = test.cluster
    const { metadata } = await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    const claimRef = { namespace: 'default', name: 'data', uid: metadata?.uid }
    await client.create(PERSISTENT_VOLUMES, volumeOf('pv-1', { claimRef, volumeMode: 'Block' }))
    // The claim needs another volume mode. The event about the mismatch shows that the controller has read the volume.
    await test.untilAll(EVENTS, (events) => events.some(({ reason }) => reason === 'VolumeMismatch'))
    await client.delete(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))
    await test.until(PERSISTENT_VOLUMES, { name: 'pv-1' }, isIn('Released'))
  })

  it('a claim stays until its last pod is deleted, and a volume stays until its claim is deleted', async () => {
    await using test = await volumesOnly()
    const { client } = test.cluster
    await client.create(PERSISTENT_VOLUMES, volumeOf('pv-1'))
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    await test.until(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), isBound)
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    await client.delete(PERSISTENT_VOLUMES, { name: 'pv-1' })
    await client.delete(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))
    await test.untilCached(test.cluster.caches.claims, 'default/data', ({ deleting }) => deleting)
    expect(test.api.get(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))?.metadata?.finalizers).toEqual([
      'kubernetes.io/pvc-protection',
    ])
    await client.delete(PODS, inDefault('app'), { gracePeriodSeconds: 0 })
    await test.untilGone(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))
    await test.untilGone(PERSISTENT_VOLUMES, { name: 'pv-1' })
  })

  it('a pod that the cache does not show yet keeps the finalizer of its claim', async () => {
    await using test = await volumesOnly()
    const { client } = test.cluster
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    await test.untilCached(test.cluster.caches.claims, 'default/data', ({ finalizers }) => finalizers !== undefined)
    // The watch delivers no further events, so only a list of the API can find the pod.
    const hold = test.api.faults.hold({ resource: 'pods', verb: 'watch' })
    test.api.dropWatches({ resource: PODS })
    await hold.arrived
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    await client.delete(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))
    await test.api.requests.until({ verb: 'list', resource: 'pods' })
    expect(test.api.get(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))?.metadata?.finalizers).toEqual([
      'kubernetes.io/pvc-protection',
    ])
    hold.release()
  })

  it('a claim with a missing class gets an event, and is bound when the class is created', async () => {
    await using test = await startTestCluster({ controllers: ['persistent-volume'], substitutes: ['csi-provisioner'] })
    const { client } = test.cluster
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data', { spec: { storageClassName: 'late' } }))
    await test.api.requests.until({ verb: 'create', resource: 'events' })
    expect(test.events('data')).toEqual(['ProvisioningFailed: storageclass.storage.k8s.io "late" not found'])
    await client.create(STORAGE_CLASSES, { metadata: { name: 'late' }, provisioner: 'csi.example.com' })
    await test.until(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), isBound)
  })
})
