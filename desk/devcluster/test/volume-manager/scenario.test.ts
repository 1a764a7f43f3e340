import { existsSync } from 'node:fs'
import { CSI_DRIVERS, NODES, type Node, PODS, type Pod, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { describe, expect, it, jest } from '@jest/globals'
import { addBoundVolume, attach, attachmentOn, setAttached, VOLUME_NAME } from '../../src/testing/bound-volume.ts'
import { inDefault, isRunning, podOf, podWith } from '../../src/testing/cluster.ts'
import { kubeletsOnly, nodeCalls, runningPod } from '../../src/testing/kubelets.ts'

jest.setTimeout(20_000)

const saysInUse =
  (names: readonly string[]) =>
  ({ status }: Node): boolean =>
    (status?.volumesInUse ?? []).join() === names.join()

const OTHER_NAME = 'kubernetes.io/csi/csi.example.com^vol-2'

const podWithVolumes = (volumes: NonNullable<Pod['spec']>['volumes'] & object): Pod =>
  podWith(
    {
      containers: [
        { name: 'main', image: 'none', volumeMounts: volumes.map(({ name }) => ({ name, mountPath: `/${name}` })) },
      ],
      volumes,
    },
    ['app', 'node-1', 'none'],
  )

describe('a kubelet', () => {
  it('a kubelet reports a volume as in use, waits for the attach, reads the node once more, and then mounts', async () => {
    await using test = await kubeletsOnly()
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    await test.until(NODES, { name: 'node-1' }, saysInUse([VOLUME_NAME]))
    expect(nodeCalls(test)).toEqual([])
    attach(test, 'node-1')
    await test.until(PODS, inDefault('app'), isRunning)
    expect(nodeCalls(test)).toEqual(['NodeStageVolume', 'NodePublishVolume'])
    const asked = test.api.requests.entries.filter(
      ({ resource, verb }) => /^nodes/.test(resource) && verb !== 'list' && verb !== 'watch',
    )
    expect(asked.slice(-2).map(({ verb, resource }) => `${verb} ${resource}`)).toEqual([
      'patch nodes/status',
      'get nodes',
    ])
    expect(test.driver.log.matching({ method: 'NodePublishVolume' })[0]?.request).toMatchObject({
      volumeId: 'vol-1',
      publishContext: { device: '/dev/x' },
      readonly: false,
    })
  })

  it('a kubelet does not mount until a new read of the Node lists the volume as attached', async () => {
    await using test = await kubeletsOnly()
    const hold = test.api.faults.hold({ verb: 'get', resource: 'nodes' })
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    attach(test, 'node-1')
    await hold.arrived
    setAttached(test, 'node-1', [])
    hold.release()
    await test.api.requests.until({ verb: 'get', resource: 'nodes', code: 200 })
    setAttached(test, 'node-1', [VOLUME_NAME])
    await test.until(PODS, inDefault('app'), isRunning)
    expect(test.api.requests.matching({ verb: 'get', resource: 'nodes' }).length).toBeGreaterThan(1)
  })

  it('a kubelet does not mount before the VolumeAttachment is attached, whatever the node status lists', async () => {
    await using test = await kubeletsOnly()
    attach(test, 'node-1')
    const attachment = attachmentOn('node-1')
    const attached = (is: boolean): void =>
      void test.api.update(VOLUME_ATTACHMENTS, attachment, (old) => ({ ...old, status: { attached: is } }))
    attached(false)
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    await test.api.requests.until({ verb: 'get', resource: 'volumeattachments', code: 200 }, { count: 2 })
    expect(nodeCalls(test)).toEqual([])
    attached(true)
    await test.until(PODS, inDefault('app'), isRunning)
  })

  it('a kubelet that checks an attachment reports the volume as in use, even if the pod is deleted', async () => {
    await using test = await kubeletsOnly()
    addBoundVolume(test, { claim: 'other', name: 'pv-2', volumeHandle: 'vol-2' })
    const hold = test.api.faults.hold({ verb: 'get', resource: 'nodes' })
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    attach(test, 'node-1')
    await hold.arrived
    test.api.delete(PODS, inDefault('app'))
    await test.untilGone(PODS, inDefault('app'))
    test.api.create(PODS, podOf('next', 'node-1', 'other'))
    await test.until(NODES, { name: 'node-1' }, ({ status }) => status?.volumesInUse?.includes(OTHER_NAME) === true)
    expect(test.api.get(NODES, { name: 'node-1' })?.status?.volumesInUse).toEqual([VOLUME_NAME, OTHER_NAME])
    hold.release()
    await test.until(NODES, { name: 'node-1' }, saysInUse([OTHER_NAME]))
    expect(test.driver.volumes.get('vol-1')?.staged.size).toBe(0)
  })

  it('a kubelet reports a volume as in use until the unmount, and then removes the pod', async () => {
    await using test = await kubeletsOnly()
    await runningPod(test)
    const hold = test.driver.faults.hold({ method: 'NodeUnstageVolume' })
    await test.cluster.client.delete(PODS, inDefault('app'))
    await hold.arrived
    expect(test.api.get(NODES, { name: 'node-1' })?.status?.volumesInUse).toEqual([VOLUME_NAME])
    hold.release()
    await test.untilGone(PODS, inDefault('app'))
    await test.until(NODES, { name: 'node-1' }, saysInUse([]))
    expect(nodeCalls(test).slice(2)).toEqual(['NodeUnpublishVolume', 'NodeUnstageVolume'])
  })

  it('a kubelet ends the containers before it unmounts', async () => {
    await using test = await kubeletsOnly()
    await runningPod(test)
    const hold = test.driver.faults.hold({ method: 'NodeUnpublishVolume' })
    await test.cluster.client.delete(PODS, inDefault('app'))
    await hold.arrived
    expect(test.api.get(PODS, inDefault('app'))?.status).toMatchObject({
      phase: 'Succeeded',
      containerStatuses: [{ ready: false, state: { terminated: { exitCode: 0 } } }],
    })
    hold.release()
    await test.untilGone(PODS, inDefault('app'))
  })

  it('a kubelet unmounts the volume of a pod that was deleted by force', async () => {
    await using test = await kubeletsOnly()
    await runningPod(test)
    await test.cluster.client.delete(PODS, inDefault('app'), { gracePeriodSeconds: 0 })
    await test.until(NODES, { name: 'node-1' }, saysInUse([]))
    expect(test.driver.volumes.get('vol-1')?.mounted.size).toBe(0)
  })

  it('a kubelet stages a volume once for two pods', async () => {
    await using test = await kubeletsOnly()
    await runningPod(test)
    test.api.create(PODS, podOf('second', 'node-1', 'data'))
    await test.until(PODS, inDefault('second'), isRunning)
    await test.cluster.client.delete(PODS, inDefault('app'))
    await test.untilGone(PODS, inDefault('app'))
    expect(nodeCalls(test)).toEqual([
      'NodeStageVolume',
      'NodePublishVolume',
      'NodePublishVolume',
      'NodeUnpublishVolume',
    ])
  })

  it('a kubelet reports on the pod why a mount fails, and retries', async () => {
    await using test = await kubeletsOnly()
    test.driver.faults.add({
      match: { method: 'NodeStageVolume' },
      times: 1,
      action: { kind: 'fail', code: 'INTERNAL', message: 'no' },
    })
    test.driver.faults.add({
      match: { method: 'NodePublishVolume' },
      times: 1,
      action: { kind: 'fail', code: 'ABORTED', message: 'busy' },
    })
    await runningPod(test)
    expect(nodeCalls(test)).toEqual([
      'NodeStageVolume 13',
      'NodeStageVolume',
      'NodePublishVolume 10',
      'NodePublishVolume',
    ])
    await test.api.requests.until({ verb: 'create', resource: 'events' }, { count: 2 })
    expect(test.events('app')).toEqual([
      'FailedMount: MountVolume.MountDevice failed for volume "pv-1" : rpc error: code = Internal desc = no',
      'FailedMount: MountVolume.SetUp failed for volume "pv-1" : rpc error: code = Aborted desc = busy',
    ])
  })

  it('a kubelet unmounts the volume of a deleted pod even if the result of the mount is unknown', async () => {
    await using test = await kubeletsOnly()
    test.driver.faults.add({
      match: { method: 'NodePublishVolume' },
      action: { kind: 'fail', code: 'UNAVAILABLE', applied: true },
    })
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    attach(test, 'node-1')
    await test.driver.log.until({ method: 'NodePublishVolume', code: 14 })
    await test.cluster.client.delete(PODS, inDefault('app'))
    await test.untilGone(PODS, inDefault('app'))
    expect(test.driver.volumes.get('vol-1')?.mounted.size).toBe(0)
  })

  it('a kubelet makes no attach and no CSI call for a pod without CSI volumes', async () => {
    await using test = await kubeletsOnly()
    const projected = { sources: [{ configMap: { name: 'c' } }] }
    test.api.create(
      PODS,
      podWithVolumes([
        { name: 'cache', emptyDir: {} },
        { name: 'config', configMap: { name: 'c', optional: true } },
        { name: 'keys', secret: { secretName: 's', optional: true } },
        { name: 'all', projected },
      ]),
    )
    await test.until(PODS, inDefault('app'), isRunning)
    expect([nodeCalls(test), test.api.get(NODES, { name: 'node-1' })?.status?.volumesInUse ?? []]).toEqual([[], []])
  })

  it('a kubelet publishes an inline CSI volume of a pod without attach and without stage', async () => {
    await using test = await kubeletsOnly()
    test.api.update(CSI_DRIVERS, { name: 'csi.example.com' }, (old) => ({
      ...old,
      spec: { ...old.spec, podInfoOnMount: true, volumeLifecycleModes: ['Persistent', 'Ephemeral'] },
    }))
    Object.assign(test.driver.settings, { unknownVolumes: 'adopt', node: [] })
    await test.untilCached(test.cluster.caches.drivers, 'csi.example.com', ({ podInfoOnMount }) => podInfoOnMount)
    test.api.create(
      PODS,
      podWithVolumes([{ name: 'scratch', csi: { driver: 'csi.example.com', volumeAttributes: { size: '1' } } }]),
    )
    await test.until(PODS, inDefault('app'), isRunning)
    const [publish] = test.driver.log.matching({ method: 'NodePublishVolume' })
    expect(publish?.request).toMatchObject({
      volumeId: expect.stringMatching(/^csi-[0-9a-f]{64}$/),
      stagingTargetPath: '',
      volumeContext: { size: '1', 'csi.storage.k8s.io/pod.name': 'app', 'csi.storage.k8s.io/ephemeral': 'true' },
    })
    await test.cluster.client.delete(PODS, inDefault('app'))
    await test.untilGone(PODS, inDefault('app'))
    expect(nodeCalls(test)).toEqual(['NodePublishVolume', 'NodeUnpublishVolume'])
  })

  it('after a restart, a kubelet unmounts only the volumes of deleted pods', async () => {
    await using test = await kubeletsOnly()
    await runningPod(test)
    const { controllers, client } = test.cluster
    await controllers.restart('volume-manager')
    await test.driver.log.until({ method: 'NodePublishVolume' }, { count: 2 })
    expect(nodeCalls(test)).not.toContain('NodeUnpublishVolume')
    await controllers.stop('volume-manager')
    await client.delete(PODS, inDefault('app'), { gracePeriodSeconds: 0 })
    controllers.begin('volume-manager')
    await test.until(NODES, { name: 'node-1' }, saysInUse([]))
    expect(nodeCalls(test).slice(-2)).toEqual(['NodeUnpublishVolume', 'NodeUnstageVolume'])
  })

  it('a kubelet with a data folder creates real directories', async () => {
    await using test = await kubeletsOnly({ data: 'data' })
    await runningPod(test)
    const paths = ['NodeStageVolume', 'NodePublishVolume'].map((method) => {
      const { stagingTargetPath, targetPath } = test.driver.log.matching({ method })[0]?.request ?? {}
      return String(targetPath ?? stagingTargetPath)
    })
    const [staged = '', published = ''] = paths
    // The driver, not kubelet, creates the last part of a target path.
    expect([existsSync(staged), existsSync(published.replace(/\/mount$/, ''))]).toEqual([true, true])
    await test.cluster.client.delete(PODS, inDefault('app'))
    await test.until(NODES, { name: 'node-1' }, saysInUse([]))
    expect(existsSync(staged)).toBe(false)
  })
})

describe('a kubelet', () => {
  it('a kubelet that ends a deleted pod does not touch the new pod of the same name', async () => {
    await using test = await kubeletsOnly()
    await runningPod(test)
    const hold = test.api.faults.hold({ verb: 'patch', resource: 'pods/status' })
    await test.cluster.client.delete(PODS, inDefault('app'))
    await hold.arrived
    await test.cluster.client.delete(PODS, inDefault('app'), { gracePeriodSeconds: 0 })
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    hold.release()
    const { metadata } = await test.until(PODS, inDefault('app'), isRunning)
    expect(metadata?.deletionTimestamp).toBeUndefined()
  })
})
