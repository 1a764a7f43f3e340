import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, type PersistentVolume } from '@csi-sidecars/kube-types'
import { describe, it, jest } from '@jest/globals'
import { claimOf, inDefault, startTestCluster, type TestCluster } from '../../src/testing/cluster.ts'

jest.setTimeout(20_000)

const controllersOnly = (): Promise<TestCluster> =>
  startTestCluster({ controllers: ['persistent-volume', 'volume-manager', 'binder'], substitutes: [] })

const volumeOf = (spec: Partial<PersistentVolume['spec']> = {}): PersistentVolume => ({
  metadata: { name: 'pv-1' },
  spec: {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '1Gi' },
    storageClassName: 'fast',
    persistentVolumeReclaimPolicy: 'Retain',
    csi: { driver: 'csi.example.com', volumeHandle: 'handle' },
    ...spec,
  },
})

const isIn = (phase: string) => (object: { status?: { phase?: string | undefined } | undefined }) =>
  object.status?.phase === phase

describe('persistentVolumeControllers', () => {
  it('the persistent volume controller binds a claim that names the volume', async () => {
    await using test = await controllersOnly()
    const { client } = test.cluster
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data', { spec: { volumeName: 'pv-1' } }))
    await test.untilCached(test.cluster.caches.claims, 'default/data', ({ phase }) => phase === 'Pending')
    await client.create(PERSISTENT_VOLUMES, volumeOf())
    await test.until(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), isIn('Bound'))
  })

  it('the persistent volume controller binds a Lost claim again when its volume is recreated', async () => {
    await using test = await controllersOnly()
    const { client } = test.cluster
    await client.create(PERSISTENT_VOLUMES, volumeOf())
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data', { spec: { volumeName: 'pv-1' } }))
    await test.until(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), isIn('Bound'))
    test.api.update(PERSISTENT_VOLUMES, { name: 'pv-1' }, (old) => ({
      ...old,
      metadata: { ...old.metadata, finalizers: [] },
    }))
    test.api.delete(PERSISTENT_VOLUMES, { name: 'pv-1' })
    await test.until(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), isIn('Lost'))
    await client.create(PERSISTENT_VOLUMES, volumeOf())
    await test.until(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), isIn('Bound'))
  })
})
