import { CONFIG_MAPS, DEPLOYMENTS, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS } from '@csi-sidecars/kube-types'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type ApiServer, startApiServer } from './server.ts'

let api: ApiServer
beforeEach(async () => {
  api = await startApiServer()
})
afterEach(() => api.stop())

const claim = { metadata: { name: 'c', namespace: 'space' }, status: { phase: 'Bound' } }

test('`create` stores an object with its status, and creates the missing namespace', () => {
  const stored = api.create(PERSISTENT_VOLUME_CLAIMS, claim)
  expect(stored).toMatchObject({ status: { phase: 'Bound' }, spec: { volumeMode: 'Filesystem', resources: {} } })
  expect(api.list(PERSISTENT_VOLUME_CLAIMS, 'space')).toEqual([stored])
  expect(api.list(PERSISTENT_VOLUME_CLAIMS, 'default')).toEqual([])
})

test('`create` drops fields that the type does not have', () => {
  const odd = { metadata: { name: 'c' }, data: { a: 'b' }, colour: 'red' }
  expect(api.create(CONFIG_MAPS, odd)).not.toHaveProperty('colour')
})

test('stored objects are frozen copies that the caller of `create` cannot change', () => {
  const sent = { metadata: { name: 'c', labels: { a: 'b' } } }
  const stored = api.create(CONFIG_MAPS, sent)
  sent.metadata.labels.a = 'changed'
  expect(stored.metadata?.labels).toEqual({ a: 'b' })
  expect(Object.isFrozen(stored.metadata)).toBe(true)
})

test('a Deployment keeps its pod template, with the defaults of its containers', () => {
  const spec = { replicas: 2, selector: {}, template: { spec: { containers: [{ name: 'driver', image: 'a:v1' }] } } }
  const stored = api.create(DEPLOYMENTS, { metadata: { name: 'd' }, spec })
  expect(stored).toMatchObject({
    metadata: { generation: 1 },
    spec: {
      replicas: 2,
      template: {
        spec: { containers: [{ image: 'a:v1', terminationMessagePolicy: 'File' }], restartPolicy: 'Always' },
      },
    },
  })
})

test('`create` throws if an object of the same name exists', () => {
  api.create(PERSISTENT_VOLUME_CLAIMS, claim)
  expect(() => api.create(PERSISTENT_VOLUME_CLAIMS, claim)).toThrow('already exists')
})

test('an update that removes the last finalizer of a deleted object removes the object', async () => {
  api.create(PERSISTENT_VOLUMES, { metadata: { name: 'pv', finalizers: ['a/b'] } })
  api.delete(PERSISTENT_VOLUMES, { name: 'pv' })
  expect(api.get(PERSISTENT_VOLUMES, { name: 'pv' })?.metadata?.deletionTimestamp).toBeDefined()
  const gone = api.untilGone(PERSISTENT_VOLUMES, { name: 'pv' })
  api.update(PERSISTENT_VOLUMES, { name: 'pv' }, (old) => ({ ...old, metadata: { ...old.metadata, finalizers: [] } }))
  await gone
})

test('`delete` marks a pod on a node as deleted, but does not remove it', () => {
  api.create(PODS, { metadata: { name: 'p' }, spec: { nodeName: 'n', containers: [] }, status: { phase: 'Running' } })
  api.delete(PODS, { name: 'p' })
  expect(api.get(PODS, { name: 'p' })?.metadata?.deletionGracePeriodSeconds).toBe(30)
})

test('a wait that times out fails with the name of the awaited object', async () => {
  const waiting = api.until(CONFIG_MAPS, { name: 'never', timeoutMs: 5 }, () => true)
  await expect(waiting).rejects.toThrow('waiting for configmaps default/never: deadline exceeded')
})

test('a listener gets each change until it unsubscribes', () => {
  const seen: string[] = []
  const leave = api.onChange(CONFIG_MAPS, ({ type, object }) => seen.push(`${type} ${object.metadata?.name}`))
  api.create(CONFIG_MAPS, { metadata: { name: 'a' } })
  api.delete(CONFIG_MAPS, { name: 'a' })
  leave()
  api.create(CONFIG_MAPS, { metadata: { name: 'b' } })
  expect(seen).toEqual(['ADDED a', 'DELETED a'])
})
