import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CONFIG_MAPS, CSI_DRIVERS, PODS, type Pod, SECRETS } from '@csi-sidecars/kube-types'
import { describe, expect, it, jest } from '@jest/globals'
import { inDefault, isRunning, podWith, type TestCluster } from '../../src/testing/cluster.ts'
import { kubeletsOnly, nodeCalls } from '../../src/testing/kubelets.ts'

jest.setTimeout(20_000)

const own = (volume: NonNullable<NonNullable<Pod['spec']>['volumes']>[number]): Pod =>
  podWith(
    {
      containers: [{ name: 'main', image: 'none', volumeMounts: [{ name: volume.name, mountPath: '/x' }] }],
      volumes: [volume],
    },
    ['app', 'node-1', 'none'],
  )

const metadata = (name: string) => ({ name, namespace: 'default' })

async function until(test: TestCluster, event: string): Promise<void> {
  await test.api.requests.until({ verb: 'create', resource: 'events', code: 201 })
  expect(test.events('app')).toContain(event)
}

describe('a volume whose content the API holds', () => {
  it('keeps its pod waiting while that is missing, then shows it, and is removed with the pod', async () => {
    await using test = await kubeletsOnly({ data: 'nodes' })
    test.api.create(PODS, own({ name: 'settings', configMap: { name: 'settings' } }))
    await until(test, 'FailedMount: MountVolume.SetUp failed for volume "settings" : configmap "settings" not found')
    test.api.create(CONFIG_MAPS, { metadata: metadata('settings'), data: { color: 'blue' } })
    await test.until(PODS, inDefault('app'), isRunning)
    const [path = ''] = test.cluster.mounted()
    expect(path).toMatch(/pods\/[^/]+\/volumes\/kubernetes\.io~configmap\/settings$/)
    expect(readFileSync(join(path, 'color'), 'utf8')).toBe('blue')
    await test.cluster.client.delete(PODS, inDefault('app'))
    await test.untilGone(PODS, inDefault('app'))
    expect([existsSync(path), test.cluster.mounted()]).toEqual([false, []])
  })

  it('can be missing if its pod allows it', async () => {
    await using test = await kubeletsOnly({ data: 'nodes' })
    test.api.create(PODS, own({ name: 'password', secret: { secretName: 'none', optional: true } }))
    await test.until(PODS, inDefault('app'), isRunning)
    const [path = ''] = test.cluster.mounted()
    expect(readdirSync(path).filter((name) => !name.startsWith('..'))).toEqual([])
  })

  it('shows a Secret with the mode that is asked for', async () => {
    await using test = await kubeletsOnly({ data: 'nodes' })
    test.api.create(SECRETS, { metadata: metadata('s'), data: { key: Buffer.from('x').toString('base64') } })
    test.api.create(PODS, own({ name: 'password', secret: { secretName: 's', items: [{ key: 'key', path: 'a/b' }] } }))
    await test.until(PODS, inDefault('app'), isRunning)
    expect(readFileSync(join(test.cluster.mounted()[0] ?? '', 'a/b'), 'utf8')).toBe('x')
  })
})

describe('a volume that a pod declares itself', () => {
  it('fails until its driver allows volumes that pods declare', async () => {
    await using test = await kubeletsOnly()
    Object.assign(test.driver.settings, { unknownVolumes: 'adopt', node: [] })
    test.api.create(PODS, own({ name: 'scratch', csi: { driver: 'csi.example.com' } }))
    await until(
      test,
      'FailedMount: MountVolume.SetUp failed for volume "scratch" : kubernetes.io/csi: mounter.SetupAt failed to check ' +
        'volume lifecycle mode: volume mode "Ephemeral" not supported by driver csi.example.com (only supports ["Persistent"])',
    )
    expect(nodeCalls(test)).toEqual([])
    test.api.update(CSI_DRIVERS, { name: 'csi.example.com' }, (old) => ({
      ...old,
      spec: { ...old.spec, volumeLifecycleModes: ['Persistent', 'Ephemeral'] },
    }))
    await test.until(PODS, inDefault('app'), isRunning)
  })
})
