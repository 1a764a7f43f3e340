import { existsSync } from 'node:fs'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { expect, test } from '@jest/globals'
import { boundPair, csiNode, lease, pod, pv, pvc, secret, storageClass, va, vac } from './builders.ts'
import { startCluster } from './cluster.ts'

const JSON_BODY = { 'content-type': 'application/json' }

test('the emulated API server accepts the objects of all object builders', async () => {
  await using cluster = await startCluster()
  const volumePath = '/api/v1/persistentvolumes'
  const storage = '/apis/storage.k8s.io/v1'
  const made: readonly [string, object][] = [
    [volumePath, pv()],
    ['/api/v1/namespaces/default/persistentvolumeclaims', pvc()],
    ['/api/v1/namespaces/default/pods', pod()],
    ['/api/v1/namespaces/default/secrets', secret()],
    [`${storage}/volumeattachments`, va()],
    [`${storage}/csinodes`, csiNode()],
    [`${storage}/storageclasses`, storageClass()],
    [`${storage}/volumeattributesclasses`, vac()],
    ['/apis/coordination.k8s.io/v1/namespaces/default/leases', lease()],
  ]
  for (const [path, object] of made) {
    const response = await fetch(cluster.api.url + path, {
      method: 'POST',
      headers: JSON_BODY,
      body: JSON.stringify(object),
    })
    expect({ path, code: response.status, text: response.status === 201 ? '' : await response.text() }).toEqual({
      path,
      code: 201,
      text: '',
    })
  }
})

test('an object builder sets changed fields at any depth and removes fields that are null', () => {
  const changed = pv('pv-7', { metadata: { labels: { a: 'b' } }, spec: { csi: { readOnly: true }, accessModes: null } })
  expect(changed.metadata).toEqual({ name: 'pv-7', labels: { a: 'b' } })
  expect(changed.spec).toEqual({
    capacity: { storage: '1Gi' },
    csi: { driver: 'csi.example.com', volumeHandle: 'vol-7', readOnly: true },
  })
})

test('`startCluster` stores objects with their status, and `stop` removes all files', async () => {
  const { claim, volume } = boundPair()
  const cluster = await startCluster({ objects: [claim, volume] })
  const stored = cluster.api.get(PERSISTENT_VOLUME_CLAIMS, { name: 'pvc-1' })
  expect(stored?.status?.phase).toBe('Bound')
  expect(cluster.api.get(PERSISTENT_VOLUMES, { name: 'pv-1' })?.spec?.claimRef?.uid).toBe(stored?.metadata?.uid)
  await cluster.stop()
  expect(existsSync(cluster.directory)).toBe(false)
})
