import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { DRIVER, pv, pvc, startCluster, storageClass } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { whileProvisioning } from '../src/testing/run-provisioner.ts'

const SELECTED = 'volume.kubernetes.io/selected-node'
const CLAIM = { namespace: 'default', name: 'data' }
const ENV = { NODE_NAME: 'node-1' }
const FLAGS = ['--node-deployment', '--node-deployment-base-delay=20ms']
const driver = {
  plugin: ['CONTROLLER_SERVICE', 'VOLUME_ACCESSIBILITY_CONSTRAINTS'],
  topology: { zone: 'z1' },
} as const

const claim = (annotations: Readonly<Record<string, string>> = {}) =>
  pvc('data', {
    metadata: { uid: 'uid-data', annotations: { 'volume.kubernetes.io/storage-provisioner': DRIVER, ...annotations } },
  })

/** Returns a released PersistentVolume in a zone. */
const released = (name: string, zone: string) =>
  pv(name, {
    spec: {
      persistentVolumeReclaimPolicy: 'Delete',
      nodeAffinity: {
        required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: [zone] }] }] },
      },
    },
    status: { phase: 'Released' },
  })

describe('--node-deployment', () => {
  it('with --node-deployment, the provisioner selects its node for a claim with immediate binding, and creates the volume there', async () => {
    await using cluster = await startCluster({ driver, objects: [storageClass(), claim()] })
    const { api, driver: calls } = cluster
    await whileProvisioning({ cluster, flags: FLAGS, env: ENV }, async () => {
      await api.until(PERSISTENT_VOLUMES, { name: 'pvc-uid-data' }, (each) => each !== undefined)
    })
    expect(api.get(PERSISTENT_VOLUME_CLAIMS, CLAIM)?.metadata?.annotations?.[SELECTED]).toBe('node-1')
    const methods = calls.calls.map(({ method }) => method)
    expect(methods.indexOf('GetCapacity')).toBeLessThan(methods.indexOf('CreateVolume'))
    const create = calls.calls.find(({ method }) => method === 'CreateVolume')
    const z1 = [{ segments: { zone: 'z1' } }]
    expect(create?.request['accessibilityRequirements']).toEqual({ requisite: z1, preferred: z1 })
  })

  it('with --node-deployment, the provisioner ignores the claim and the volume of another node', async () => {
    await using cluster = await startCluster({
      driver,
      objects: [storageClass(), claim({ [SELECTED]: 'node-2' }), released('pv-1', 'z1'), released('pv-2', 'z2')],
    })
    const { api, driver: calls } = cluster
    await whileProvisioning({ cluster, flags: FLAGS, env: ENV }, async () => {
      await api.untilGone(PERSISTENT_VOLUMES, { name: 'pv-1' })
    })
    expect(calls.calls.filter(({ method }) => /CreateVolume|DeleteVolume/.test(method))).toHaveLength(1)
    expect(api.get(PERSISTENT_VOLUMES, { name: 'pv-2' })).toBeDefined()
  })

  it('with --node-deployment, the provisioner does not select its node for a claim that exceeds the capacity of the node', async () => {
    await using cluster = await startCluster({ driver, objects: [storageClass(), claim()] })
    const { api, driver: calls } = cluster
    calls.script('GetCapacity', () => ({ availableCapacity: 1n }))
    await whileProvisioning({ cluster, flags: [...FLAGS, '-v5'], env: ENV }, async () => {
      await calls.log.until({ method: 'GetCapacity', code: 0 })
    })
    expect(api.get(PERSISTENT_VOLUME_CLAIMS, CLAIM)?.metadata?.annotations?.[SELECTED]).toBeUndefined()
  })

  it('with --node-deployment, a claim that waits for the delay before a node selection occupies no worker', async () => {
    const metadata = { annotations: { 'volume.kubernetes.io/storage-provisioner': DRIVER } }
    const objects = [storageClass(), pvc('free', { metadata }), claim({ [SELECTED]: 'node-1' })]
    await using cluster = await startCluster({ driver, objects })
    const { api } = cluster
    const delays = ['--node-deployment-base-delay=30s', '--node-deployment-max-delay=30s']
    const flags = ['--node-deployment', ...delays, '--worker-threads=1']
    await whileProvisioning({ cluster, flags, env: ENV }, async () => {
      await api.until(PERSISTENT_VOLUMES, { name: 'pvc-uid-data' }, (each) => each !== undefined)
    })
    const free = api.get(PERSISTENT_VOLUME_CLAIMS, { ...CLAIM, name: 'free' })
    expect(free?.metadata?.annotations?.[SELECTED]).toBeUndefined()
  })

  it('with --node-deployment, the provisioner refuses to start without NODE_NAME', async () => {
    await using cluster = await startCluster()
    const run = whileProvisioning({ cluster, flags: FLAGS }, () => new Promise(() => {}))
    await expect(run).rejects.toThrow('The NODE_NAME environment variable must be set')
  })
})
