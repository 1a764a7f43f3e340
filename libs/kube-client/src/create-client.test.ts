import { systemClock } from '@csi-sidecars/base'
import {
  CONFIG_MAPS,
  type ConfigMap,
  LEASES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { silentLogger } from '@csi-sidecars/telemetry'
import { type Cluster, configMap, pv, pvc, startCluster, va } from '@csi-sidecars/testkit'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createKubeClient, type OwnedKubeClient } from './create-client.ts'
import {
  flowOptions,
  isAlreadyExists,
  isConflict,
  isGone,
  isInvalid,
  isNotFound,
  isOutdated,
  type ListPage,
  loadClusterConfig,
} from './index.ts'

let cluster: Cluster
let client: OwnedKubeClient
beforeEach(async () => {
  cluster = await startCluster({ api: { tls: true } })
  const env = {}
  const config = await loadClusterConfig({ kubeconfig: cluster.kubeconfig, env, log: silentLogger, clock: systemClock })
  client = createKubeClient({
    config,
    flow: flowOptions({}),
    clock: systemClock,
    log: silentLogger,
    userAgent: 'test/1',
  })
})
afterEach(async () => {
  client.close()
  await cluster.stop()
})

const failure = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    () => undefined,
    (error: unknown) => error,
  )
const lastRequest = (): object | undefined => cluster.api.requests.entries.at(-1)

describe('one object', () => {
  test('the client creates an object in its namespace, reads, replaces, patches and deletes it', async () => {
    const made = await client.create<ConfigMap>(CONFIG_MAPS, configMap('a', { data: { x: '1' } }))
    const namespace = made.metadata?.namespace
    const ref = { name: 'a', namespace }
    expect(await client.get(CONFIG_MAPS, ref)).toEqual(made)
    const replaced = await client.replace<ConfigMap>(CONFIG_MAPS, { ...made, data: { x: '2' } })
    expect(replaced.data).toEqual({ x: '2' })
    const patched = await client.patch(CONFIG_MAPS, ref, { kind: 'merge', body: { data: { y: 'ä' } } })
    expect(patched.data).toEqual({ x: '2', y: 'ä' })
    await client.delete(CONFIG_MAPS, ref)
    expect(isNotFound(await failure(client.get(CONFIG_MAPS, ref)))).toBe(true)
  })

  test.each([
    ['merge', { metadata: { labels: { a: 'b' } } }, 'application/merge-patch+json'],
    ['json', [{ op: 'add', path: '/metadata/labels', value: { a: 'b' } }], 'application/json-patch+json'],
    ['strategic', { metadata: { labels: { a: 'b' } } }, 'application/strategic-merge-patch+json'],
  ] as const)('the client sends a %s patch with its content type', async (kind, body, contentType) => {
    cluster.add(pvc('claim'))
    const { namespace } = pvc('claim').metadata ?? {}
    const patched = await client.patch(PERSISTENT_VOLUME_CLAIMS, { name: 'claim', namespace }, { kind, body })
    expect(patched.metadata?.labels).toEqual({ a: 'b' })
    expect(lastRequest()).toMatchObject({ method: 'PATCH', contentType, userAgent: 'test/1', code: 200 })
  })

  test('the client patches the status of an object through the subresource', async () => {
    cluster.add(va('va-1'))
    const patch = { kind: 'merge', body: { status: { attached: true } } } as const
    const patched = await client.patch(VOLUME_ATTACHMENTS, { name: 'va-1' }, patch, { subresource: 'status' })
    expect(patched.status?.attached).toBe(true)
    expect(lastRequest()).toMatchObject({ path: '/apis/storage.k8s.io/v1/volumeattachments/va-1/status' })
  })

  test('the client sends the grace period of a deletion only if the caller sets one', async () => {
    cluster.add(configMap('a'), configMap('b'))
    await client.delete(CONFIG_MAPS, { name: 'a', namespace: 'default' }, { gracePeriodSeconds: 0 })
    expect(lastRequest()).toMatchObject({ method: 'DELETE', query: { gracePeriodSeconds: '0' }, code: 200 })
    await client.delete(CONFIG_MAPS, { name: 'b', namespace: 'default' })
    expect(lastRequest()).toMatchObject({ method: 'DELETE', query: {} })
    expect(lastRequest()).not.toHaveProperty('query.gracePeriodSeconds')
  })

  test('the client refuses a read without an object name, because it would return the whole list', async () => {
    await expect(async () => client.get(LEASES, { name: '', namespace: 'ns' })).rejects.toThrow(
      'resource name may not be empty',
    )
  })
})

describe('refusals', () => {
  test('`isNotFound` recognizes the refusal for an object that does not exist', async () => {
    const error = await failure(client.get(PERSISTENT_VOLUMES, { name: 'x' }))
    expect(error).toMatchObject({ code: 404, reason: 'NotFound', message: 'persistentvolumes "x" not found' })
    expect([isNotFound(error), isConflict(error)]).toEqual([true, false])
  })

  test('the refusal for an existing object is recognized by `isAlreadyExists`, but not by `isConflict`', async () => {
    cluster.add(pv('x'))
    const error = await failure(client.create(PERSISTENT_VOLUMES, pv('x')))
    expect([isAlreadyExists(error), isConflict(error)]).toEqual([true, false])
  })

  test('`isConflict` recognizes the refusal for an object that has changed since it was read', async () => {
    cluster.add(pv('x'))
    const body = { metadata: { resourceVersion: '1', labels: { a: 'b' } } }
    const error = await failure(client.patch(PERSISTENT_VOLUMES, { name: 'x' }, { kind: 'merge', body }))
    expect(error).toMatchObject({
      message:
        'Operation cannot be fulfilled on persistentvolumes "x": the object has been modified; please apply your changes to the latest version and try again',
    })
    expect(isConflict(error)).toBe(true)
  })

  test('`isInvalid` and `isOutdated` recognize the refusal of a patch whose test operation fails', async () => {
    cluster.add(pv('x'))
    const body = [{ op: 'test', path: '/metadata/name', value: 'y' }]
    const error = await failure(client.patch(PERSISTENT_VOLUMES, { name: 'x' }, { kind: 'json', body }))
    expect([isInvalid(error), isOutdated(error)]).toEqual([true, true])
  })
})

describe('a list', () => {
  const names = async (pageSize: number): Promise<ListPage<string>[]> => {
    const pages: ListPage<string>[] = []
    const project = ({ metadata }: { metadata?: { name?: string | undefined } | undefined }): string | undefined =>
      metadata?.name === 'pv-4' ? undefined : metadata?.name
    for await (const page of client.list(PERSISTENT_VOLUMES, { pageSize, project })) pages.push(page)
    return pages
  }

  test('all pages of a list have one version, and lack the objects that the projection rejects', async () => {
    cluster.add(...Array.from({ length: 7 }, (_, at) => pv(`pv-${at}`)))
    const pages = await names(3)
    expect(pages.map(({ items }) => items)).toEqual([['pv-0', 'pv-1', 'pv-2'], ['pv-3', 'pv-5'], ['pv-6']])
    expect(new Set(pages.map(({ resourceVersion }) => resourceVersion)).size).toBe(1)
    expect(pages.at(-1)?.continue).toBeUndefined()
  })

  test('the client lists all objects in one page with the page size 0', async () => {
    cluster.add(...Array.from({ length: 7 }, (_, at) => pv(`pv-${at}`)))
    expect(await names(0)).toHaveLength(1)
  })

  test('the client throws Gone if the next page of a list has expired', async () => {
    cluster.add(...Array.from({ length: 7 }, (_, at) => pv(`pv-${at}`)))
    const action = { kind: 'answer', code: 410, reason: 'Expired', message: 'too old' } as const
    cluster.api.faults.add({ match: { verb: 'list' }, skip: 1, times: 1, action })
    expect(isGone(await failure(names(3)))).toBe(true)
  })
})
