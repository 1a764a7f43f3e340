import { NODES, PODS, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { attachmentName } from '@csi-sidecars/volume-controllers'
import { describe, expect, it, jest } from '@jest/globals'
import {
  attachDetachOnly,
  attachedTo1,
  deletes,
  isAttached,
  ON_1,
  ON_2,
  removePod,
} from '../../src/testing/attach-detach.ts'
import { addBoundVolume, setInUse, VOLUME_NAME } from '../../src/testing/bound-volume.ts'
import { podOf, startTestCluster } from '../../src/testing/cluster.ts'

jest.setTimeout(20_000)

describe('attachDetachController', () => {
  it('the attach/detach controller reports an attachment in the status of the node and on the pod', async () => {
    await using test = await attachDetachOnly()
    await attachedTo1(test)
    expect(test.api.get(VOLUME_ATTACHMENTS, ON_1)).toMatchObject({
      spec: { attacher: 'csi.example.com', nodeName: 'node-1', source: { persistentVolumeName: 'pv-1' } },
    })
    await test.api.requests.until({ verb: 'create', resource: 'events' })
    expect(test.events('app')).toEqual(['SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pv-1" '])
  })

  it('the attach/detach controller reports the attached volumes of a recreated node', async () => {
    await using test = await attachDetachOnly()
    await attachedTo1(test)
    const node = test.api.get(NODES, { name: 'node-1' })
    test.api.delete(NODES, { name: 'node-1' })
    test.api.create(NODES, { metadata: { name: 'node-1', annotations: { ...node?.metadata?.annotations } } })
    await test.until(NODES, { name: 'node-1' }, ({ status }) => status?.volumesAttached?.[0]?.name === VOLUME_NAME)
  })

  it.each(['attached', 'detached'])(
    "the attach/detach controller repeats a failed update of the node's status after a volume was %s",
    async (change) => {
      await using test = await attachDetachOnly()
      const failing = (): void => {
        const match = { verb: 'patch', resource: 'nodes/status' } as const
        test.api.faults.add({ match, times: 3, action: { kind: 'answer', code: 500 } })
      }
      if (change === 'attached') failing()
      await attachedTo1(test)
      await test.api.requests.until({ verb: 'create', resource: 'events' })
      expect(test.events('app')).toEqual(['SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pv-1" '])
      if (change === 'detached') failing()
      // The attachment is already deleted, so only the repeated update can remove the volume from the node's status.
      if (change === 'detached') test.api.delete(VOLUME_ATTACHMENTS, ON_1)
      await removePod(test, 'app')
      await test.until(NODES, { name: 'node-1' }, ({ status }) => (status?.volumesAttached ?? []).length === 0)
    },
  )

  it('the attach/detach controller attaches nothing for a pod that has ended, or that is not scheduled', async () => {
    await using test = await attachDetachOnly()
    test.api.create(PODS, { ...podOf('ended', 'node-1', 'data'), status: { phase: 'Failed' } })
    test.api.create(PODS, podOf('waiting', undefined, 'data'))
    test.api.create(PODS, podOf('app', 'node-2', 'data'))
    await test.until(VOLUME_ATTACHMENTS, ON_2, isAttached)
    expect(test.api.list(VOLUME_ATTACHMENTS)).toHaveLength(1)
  })

  it('the attach/detach controller detaches a volume only when the node no longer reports it as in use', async () => {
    await using test = await attachDetachOnly()
    setInUse(test, 'node-1', [VOLUME_NAME])
    await attachedTo1(test)
    await removePod(test, 'app')
    // The event about the next pod proves that the controller has handled the deleted pod.
    test.api.create(PODS, podOf('next', 'node-2', 'data'))
    await test.api.requests.until({ verb: 'create', resource: 'events' }, { count: 2 })
    expect(deletes(test)).toEqual([])
    setInUse(test, 'node-1', [])
    await test.untilGone(VOLUME_ATTACHMENTS, ON_1)
    await test.until(VOLUME_ATTACHMENTS, ON_2, isAttached)
  })

  it('the attach/detach controller does not detach a volume that the API server reports as in use again', async () => {
    await using test = await attachDetachOnly()
    await attachedTo1(test)
    const hold = test.api.faults.hold({ verb: 'get', resource: 'nodes' })
    const removal = removePod(test, 'app')
    await hold.arrived
    // The node status no longer lists the volume as attached, so a kubelet must not use it.
    expect(test.api.get(NODES, { name: 'node-1' })?.status?.volumesAttached ?? []).toEqual([])
    setInUse(test, 'node-1', [VOLUME_NAME])
    hold.release()
    await removal
    test.api.create(PODS, podOf('next', 'node-2', 'data'))
    await test.api.requests.until({ verb: 'create', resource: 'events' }, { count: 2 })
    expect(deletes(test)).toEqual([])
    setInUse(test, 'node-1', [])
    await test.until(VOLUME_ATTACHMENTS, ON_2, isAttached)
  })

  it('the attach/detach controller ignores an API answer that is older than its cached node status', async () => {
    await using test = await attachDetachOnly()
    await attachedTo1(test)
    const { client, caches } = test.cluster
    const get = client.get.bind(client)
    const overtaken = jest.spyOn(client, 'get').mockImplementationOnce(async (resource, ref, options) => {
      setInUse(test, 'node-1', [VOLUME_NAME])
      const answer = await get(resource, ref, options)
      setInUse(test, 'node-1', [])
      const version = test.api.get(NODES, { name: 'node-1' })?.metadata?.resourceVersion
      await test.untilCached(caches.nodes, 'node-1', ({ resourceVersion }) => resourceVersion === version)
      return answer
    })
    await removePod(test, 'app')
    await test.untilGone(VOLUME_ATTACHMENTS, ON_1)
    expect(overtaken.mock.calls[0]?.slice(0, 2)).toEqual([NODES, { name: 'node-1' }])
  })

  it('the event of a pod that waits for a volume names the pods that use the volume', async () => {
    await using test = await attachDetachOnly()
    setInUse(test, 'node-1', [VOLUME_NAME])
    await attachedTo1(test)
    test.api.create(PODS, podOf('next', 'node-2', 'data'))
    await test.api.requests.until({ verb: 'create', resource: 'events' }, { count: 2 })
    expect(test.events('next')).toEqual([
      'FailedAttachVolume: Multi-Attach error for volume "pv-1" Volume is already used by pod(s) app',
    ])
    expect(test.driver.log.matching({ method: 'ControllerPublishVolume', nodeId: 'node-2' })).toEqual([])
  })

  it('the attach/detach controller attaches a ReadWriteMany volume to all nodes of its pods', async () => {
    await using test = await attachDetachOnly(['ReadWriteMany'])
    await attachedTo1(test)
    test.api.create(PODS, podOf('next', 'node-2', 'data'))
    await test.until(VOLUME_ATTACHMENTS, ON_2, isAttached)
    expect(isAttached(test.api.get(VOLUME_ATTACHMENTS, ON_1))).toBe(true)
  })

  it('the attach/detach controller detaches by force from a node that is out of service', async () => {
    await using test = await attachDetachOnly()
    setInUse(test, 'node-1', [VOLUME_NAME])
    await attachedTo1(test)
    await removePod(test, 'app')
    const taint = { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' }
    test.api.update(NODES, { name: 'node-1' }, (old) => ({ ...old, spec: { ...old.spec, taints: [taint] } }))
    await test.untilGone(VOLUME_ATTACHMENTS, ON_1)
  })

  it('the attach/detach controller detaches from a node that was deleted', async () => {
    await using test = await attachDetachOnly()
    await attachedTo1(test)
    test.api.delete(NODES, { name: 'node-1' })
    await removePod(test, 'app')
    await test.untilGone(VOLUME_ATTACHMENTS, ON_1)
  })

  it('in Kubernetes 1.38 the attach/detach controller detaches at once from a deleted Node that used the volume', async () => {
    await using test = await attachDetachOnly(undefined, { kubernetesMinor: 38 })
    setInUse(test, 'node-1', [VOLUME_NAME])
    await attachedTo1(test)
    test.api.delete(NODES, { name: 'node-1' })
    await removePod(test, 'app')
    await test.untilGone(VOLUME_ATTACHMENTS, ON_1)
  })

  it('in Kubernetes 1.37 the attach/detach controller waits for a deleted Node that used the volume', async () => {
    await using test = await attachDetachOnly(undefined, { kubernetesMinor: 37 })
    setInUse(test, 'node-1', [VOLUME_NAME])
    await attachedTo1(test)
    test.api.delete(NODES, { name: 'node-1' })
    await removePod(test, 'app')
    // The event about the next pod proves that the controller has handled the deleted pod.
    test.api.create(PODS, podOf('next', 'node-2', 'data'))
    await test.api.requests.until({ verb: 'create', resource: 'events' }, { count: 2 })
    expect(deletes(test)).toEqual([])
  })

  it('a volume of a migrated in-tree plugin is attached by the CSI driver that replaces the plugin', async () => {
    await using test = await startTestCluster({ controllers: ['attach-detach'], substitutes: [] })
    const awsElasticBlockStore = { volumeID: 'aws://eu-west-1a/vol-7' }
    addBoundVolume(test, { spec: { csi: undefined, awsElasticBlockStore } })
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    const name = attachmentName({ driver: 'ebs.csi.aws.com', volumeHandle: 'vol-7' }, 'node-1')
    await test.until(VOLUME_ATTACHMENTS, { name }, (va) => va !== undefined)
    expect(test.api.get(VOLUME_ATTACHMENTS, { name })?.spec).toEqual({
      attacher: 'ebs.csi.aws.com',
      nodeName: 'node-1',
      source: { persistentVolumeName: 'pv-1' },
    })
  })

  it('the attach/detach controller reports to the pod why its volume cannot be attached', async () => {
    await using test = await attachDetachOnly()
    test.driver.faults.add({ match: { method: 'ControllerPublishVolume' }, action: { kind: 'fail', code: 'INTERNAL' } })
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    await test.until(VOLUME_ATTACHMENTS, ON_1, (va) => va !== undefined)
    const attachError = { message: 'rpc error: code = Internal desc = no', time: '2026-01-01T00:00:00Z' }
    test.api.update(VOLUME_ATTACHMENTS, ON_1, (old) => ({ ...old, status: { attached: false, attachError } }))
    await test.api.requests.until({ verb: 'create', resource: 'events' })
    expect(test.events('app')).toEqual([
      'FailedAttachVolume: AttachVolume.Attach failed for volume "pv-1" : rpc error: code = Internal desc = no',
    ])
  })

  it('the attach/detach controller recreates an attachment that a user deleted under a running pod', async () => {
    await using test = await attachDetachOnly()
    await attachedTo1(test)
    const before = test.api.get(VOLUME_ATTACHMENTS, ON_1)?.metadata?.uid
    test.api.delete(VOLUME_ATTACHMENTS, ON_1)
    await test.until(VOLUME_ATTACHMENTS, ON_1, (va) => isAttached(va) && va?.metadata?.uid !== before)
  })

  it('the attach/detach controller does not repeat an attach or a detach after restarts', async () => {
    await using test = await attachDetachOnly()
    setInUse(test, 'node-1', [VOLUME_NAME])
    await attachedTo1(test)
    const { controllers } = test.cluster
    await controllers.restart('attach-detach')
    await controllers.restart('attach-detach')
    setInUse(test, 'node-1', [])
    await removePod(test, 'app')
    await test.untilGone(VOLUME_ATTACHMENTS, ON_1)
    const made = test.api.requests.matching({ verb: 'create', resource: 'volumeattachments' })
    expect([made.length, deletes(test).length]).toEqual([1, 1])
  })

  it('the attach/detach controller finishes an attach during which it was restarted', async () => {
    await using test = await attachDetachOnly()
    const hold = test.driver.faults.hold({ method: 'ControllerPublishVolume' })
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    await hold.arrived
    await test.cluster.controllers.restart('attach-detach')
    hold.release()
    await test.until(NODES, { name: 'node-1' }, (node) => node?.status?.volumesAttached?.[0]?.name === VOLUME_NAME)
    expect(test.api.requests.matching({ verb: 'create', resource: 'volumeattachments' })).toHaveLength(1)
  })

  it('the attach/detach controller creates an attachment once, even if the answer of the API server was lost', async () => {
    await using test = await attachDetachOnly()
    const lost = { verb: 'create', resource: 'volumeattachments' } as const
    test.api.faults.add({ match: lost, times: 1, action: { kind: 'cut', applied: true } })
    await attachedTo1(test)
    expect(test.api.requests.matching(lost)).toHaveLength(1)
  })

  it('the attach/detach controller detaches a volume whose pod was deleted while the controller was stopped', async () => {
    await using test = await attachDetachOnly()
    await attachedTo1(test)
    const { controllers } = test.cluster
    await controllers.stop('attach-detach')
    await removePod(test, 'app')
    controllers.begin('attach-detach')
    await test.untilGone(VOLUME_ATTACHMENTS, ON_1)
    await test.until(NODES, { name: 'node-1' }, ({ status }) => (status?.volumesAttached ?? []).length === 0)
  })
})

describe('unmanaged node', () => {
  it('the attach/detach controller ignores a node whose annotation leaves the attach to the kubelet', async () => {
    await using test = await attachDetachOnly()
    const annotate = (value: string): void => {
      const annotations = { 'volumes.kubernetes.io/controller-managed-attach-detach': value }
      test.api.update(NODES, { name: 'node-1' }, (old) => ({ ...old, metadata: { ...old.metadata, annotations } }))
    }
    annotate('false')
    await test.cluster.controllers.restart('attach-detach')
    await test.untilCached(test.cluster.caches.nodes, 'node-1', ({ managed }) => !managed)
    await test.cluster.controllers.restart('attach-detach')
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    test.api.create(PODS, podOf('next', 'node-2', 'data'))
    await test.until(VOLUME_ATTACHMENTS, ON_2, isAttached)
    expect(test.api.get(VOLUME_ATTACHMENTS, ON_1)).toBeUndefined()
    await removePod(test, 'next')
    annotate('true')
    await test.until(VOLUME_ATTACHMENTS, ON_1, isAttached)
  })
})
