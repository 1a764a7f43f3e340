import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  PODS,
} from '@csi-sidecars/kube-types'
import { describe, expect, it, jest } from '@jest/globals'
import { inDefault, podOf, type TestCluster } from '../../src/testing/cluster.ts'
import { kubeletsOnly, nodeCalls, runningPod } from '../../src/testing/kubelets.ts'

jest.setTimeout(20_000)

describe('expansion', () => {
  /** Writes the fields that a resizer writes when the node must finish the expansion. */
  function grow({ api }: TestCluster, size: string): void {
    api.update(PERSISTENT_VOLUMES, { name: 'pv-1' }, (old) => ({
      ...old,
      spec: { ...old.spec, capacity: { storage: size } },
    }))
    api.update(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), (old) => ({
      ...old,
      spec: { ...old.spec, resources: { requests: { storage: size } } },
      status: {
        ...old.status,
        allocatedResources: { storage: size },
        allocatedResourceStatuses: { storage: 'NodeResizePending' },
        conditions: [{ type: 'FileSystemResizePending', status: 'True', lastProbeTime: null }],
      },
    }))
  }

  const has = (size: string) => (claim: PersistentVolumeClaim) => claim.status?.capacity?.['storage'] === size
  const setSize = ({ driver }: TestCluster, bytes: bigint): void => {
    const volume = driver.volumes.get('vol-1')
    if (volume !== undefined) volume.capacityBytes = bytes
  }

  it('a kubelet expands the file system while a pod uses it, and clears the pending status of the claim', async () => {
    await using test = await kubeletsOnly()
    await runningPod(test)
    setSize(test, 2n * 1024n ** 3n)
    grow(test, '2Gi')
    const claim = await test.until(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), has('2Gi'))
    expect(claim.status).toEqual({
      phase: 'Bound',
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '2Gi' },
      allocatedResources: { storage: '2Gi' },
    })
    const [call] = test.driver.log.matching({ method: 'NodeExpandVolume' })
    expect(call?.request).toMatchObject({ volumeId: 'vol-1', capacityRange: { requiredBytes: 2n * 1024n ** 3n } })
  })

  it('a kubelet expands the file system of a volume that grew before its mount', async () => {
    await using test = await kubeletsOnly()
    setSize(test, 2n * 1024n ** 3n)
    grow(test, '2Gi')
    await runningPod(test)
    await test.until(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), has('2Gi'))
    expect(nodeCalls(test)).toEqual(['NodeStageVolume', 'NodePublishVolume', 'NodeExpandVolume'])
  })

  it('a kubelet reports an infeasible expansion on the claim, and does not retry', async () => {
    await using test = await kubeletsOnly()
    await runningPod(test)
    grow(test, '2Gi')
    const claim = await test.until(
      PERSISTENT_VOLUME_CLAIMS,
      inDefault('data'),
      ({ status }) => status?.allocatedResourceStatuses?.['storage'] === 'NodeResizeInfeasible',
    )
    expect(claim.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'NodeResizeError', status: 'True' }),
    )
    expect(claim.status?.capacity).toEqual({ storage: '1Gi' })
  })

  it('a kubelet retries an expansion after an error that may be temporary', async () => {
    await using test = await kubeletsOnly()
    test.driver.faults.add({
      match: { method: 'NodeExpandVolume' },
      times: 1,
      action: { kind: 'fail', code: 'UNAVAILABLE' },
    })
    await runningPod(test)
    setSize(test, 2n * 1024n ** 3n)
    grow(test, '2Gi')
    await test.until(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), has('2Gi'))
    expect(nodeCalls(test).slice(-2)).toEqual(['NodeExpandVolume 14', 'NodeExpandVolume'])
  })

  it('a kubelet expands the file system at the next mount if the driver refuses to expand a volume in use', async () => {
    await using test = await kubeletsOnly()
    test.driver.faults.add({
      match: { method: 'NodeExpandVolume' },
      times: 1,
      action: { kind: 'fail', code: 'FAILED_PRECONDITION' },
    })
    await runningPod(test)
    setSize(test, 2n * 1024n ** 3n)
    grow(test, '2Gi')
    await test.driver.log.until({ method: 'NodeExpandVolume', code: 9 })
    await test.cluster.client.delete(PODS, inDefault('app'))
    await test.untilGone(PODS, inDefault('app'))
    test.api.create(PODS, podOf('next', 'node-1', 'data'))
    await test.until(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), has('2Gi'))
    expect(nodeCalls(test).filter((call) => call.startsWith('NodeExpand'))).toEqual([
      'NodeExpandVolume 9',
      'NodeExpandVolume',
    ])
  })
})
