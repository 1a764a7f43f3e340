import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, type PersistentVolume } from '@csi-sidecars/kube-types'
import { DRIVER, pvc, startCluster, storageClass } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { whileProvisioning } from '../src/testing/run-provisioner.ts'

const CLAIM = pvc('data', {
  metadata: { uid: 'uid-data', annotations: { 'volume.kubernetes.io/storage-provisioner': DRIVER } },
})
const VOLUME = { name: 'pvc-uid-data' }

describe('whole process', () => {
  it('the provisioner creates a volume for a claim and deletes it when its PersistentVolume is released', async () => {
    await using cluster = await startCluster({ objects: [storageClass(), CLAIM] })
    const { api, driver } = cluster
    let created: PersistentVolume | undefined
    const log = await whileProvisioning({ cluster, flags: ['-v5', '--leader-election'] }, async () => {
      created = await api.until(PERSISTENT_VOLUMES, VOLUME, (pv) => pv !== undefined)
      api.update(PERSISTENT_VOLUMES, VOLUME, (pv) => ({ ...pv, status: { phase: 'Released' } }))
      await api.untilGone(PERSISTENT_VOLUMES, VOLUME)
    })
    expect(created).toMatchObject({
      metadata: {
        annotations: {
          'pv.kubernetes.io/provisioned-by': DRIVER,
          'volume.kubernetes.io/provisioner-deletion-secret-name': '',
          'volume.kubernetes.io/provisioner-deletion-secret-namespace': '',
        },
        finalizers: expect.arrayContaining(['external-provisioner.volume.kubernetes.io/finalizer']),
      },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '1Gi' },
        claimRef: { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'data', uid: 'uid-data' },
        csi: { driver: DRIVER, volumeHandle: expect.any(String) },
        persistentVolumeReclaimPolicy: 'Delete',
        storageClassName: 'sc-1',
        volumeMode: 'Filesystem',
      },
    })
    const calls = driver.calls.map(({ method }) => method)
    expect(calls.filter((method) => method === 'CreateVolume')).toHaveLength(1)
    expect(calls.filter((method) => method === 'DeleteVolume')).toHaveLength(1)
    expect(log).toContain('"Started provisioner controller"')
    expect(log).toMatch(/"Event occurred" object="default\/data" .* reason="ProvisioningSucceeded"/)
    expect(api.get(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: 'data' })).toBeDefined()
  })

  it('the provisioner puts a finalizer on the claim during the creation with --finalize-claims', async () => {
    await using cluster = await startCluster({ objects: [storageClass(), CLAIM] })
    const { api, driver } = cluster
    const during: unknown[] = []
    driver.script('CreateVolume', (request: object) => {
      during.push(api.get(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: 'data' })?.metadata?.finalizers)
      return driver.usualAnswer('CreateVolume', request)
    })
    const claim = { namespace: 'default', name: 'data' }
    await whileProvisioning({ cluster, flags: ['--finalize-claims'] }, async () => {
      await api.until(PERSISTENT_VOLUMES, VOLUME, (pv) => pv !== undefined)
      await api.until(PERSISTENT_VOLUME_CLAIMS, claim, (each) => !each?.metadata?.finalizers?.includes(CLAIM_FINALIZER))
    })
    expect(during).toEqual([expect.arrayContaining([CLAIM_FINALIZER])])
  })

  it.each([-2, 33])('the provisioner refuses to start with --volume-name-uuid-length=%i', async (length) => {
    await using cluster = await startCluster()
    const flags = [`--volume-name-uuid-length=${length}`]
    const run = whileProvisioning({ cluster, flags }, () => new Promise(() => {}))
    await expect(run).rejects.toThrow('--volume-name-uuid-length must be -1, or between 0 and 32')
  })

  it('the provisioner logs a warning for each removed flag, and a line for a feature gate that is always on', async () => {
    await using cluster = await startCluster({ objects: [storageClass(), CLAIM] })
    const removedFlags = ['--provisioner=x', '--leader-election-type=leases', '--connection-timeout=1s']
    const counts = ['--provisioning-retry-count=1', '--deletion-retry-count=1']
    const flags = [
      ...removedFlags,
      ...counts,
      '--enable-leader-election=false',
      '--feature-gates=HonorPVReclaimPolicy=true',
    ]
    const log = await whileProvisioning({ cluster, flags }, async () => {
      await cluster.api.until(PERSISTENT_VOLUMES, VOLUME, (pv) => pv !== undefined)
    })
    expect(log.match(/Warning: this flag was removed, and has no effect/g)).toHaveLength(5)
    expect(log.match(/Warning: this flag was removed, and is read as another flag/g)).toHaveLength(1)
    expect(log).toContain('"Ignoring feature gate that is always on"')
  })
})

const CLAIM_FINALIZER = 'external-provisioner/csi-example-com'
