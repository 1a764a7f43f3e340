import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { isReachable } from './local-node.ts'

/** Returns a Cinder volume whose affinity has the zone label of Kubernetes, not the key of the CSI driver. */
function cinderVolume(zone: string): PersistentVolume {
  const expression = { key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] }
  const spec = {
    cinder: { volumeID: 'vol-1' },
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [expression] }] } },
  }
  return { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'pv' }, spec }
}

describe('isReachable', () => {
  const node = { name: 'node-1', immediateBinding: true, baseDelayMs: 0, maxDelayMs: 0, rescheduleAfterMs: 0 }

  it.each([
    ['z1', true],
    ['z2', false],
  ])('an in-tree volume in the zone %s counts as reachable from a node in the zone z1: %s', (zone, expected) => {
    const segments = { 'topology.cinder.csi.openstack.org/zone': 'z1' }
    expect(isReachable(cinderVolume(zone), { ...node, segments })).toBe(expected)
  })

  it('a driver without topology can reach every volume', () => {
    expect(isReachable(cinderVolume('z2'), { ...node, segments: undefined })).toBe(true)
  })
})
