import { systemClock } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { createInProcessServer, type InProcessServer } from '@csi-sidecars/emulator'
import {
  ApiError,
  apiErrorOf,
  createKubeClient,
  flowOptions,
  type KubeClient,
  loadClusterConfig,
} from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { silentLogger } from '@csi-sidecars/telemetry'
import { InProcessClient, pv, pvc, startCluster, va } from '@csi-sidecars/testkit'
import { expect, test } from '@jest/globals'

/** Returns the result of a call, or the important fields of its error. */
async function outcome(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { code, reason, message, details, retryAfterMs } = error
    return { code, reason, message, details, retryAfterMs }
  }
}

async function frames(client: KubeClient, count: number): Promise<unknown> {
  const seen: unknown[] = []
  for await (const frame of client.watch(PERSISTENT_VOLUMES, { sendInitialEvents: true })) {
    seen.push(frame)
    if (seen.length === count) break
  }
  return seen
}

async function pages(client: KubeClient): Promise<unknown> {
  const seen: unknown[] = []
  const project = (object: unknown): unknown => object
  for await (const page of client.list(PERSISTENT_VOLUMES, { pageSize: 1, project })) seen.push(page.items)
  return seen
}

/** Sends accepted and refused requests of every verb, and returns all results. */
async function conversation(client: KubeClient): Promise<readonly unknown[]> {
  const claim = { name: 'pvc-1', namespace: 'default' }
  const status = { status: { phase: 'Bound', conditions: [{ type: 'Resizing', status: 'True' }] } }
  const test = [{ op: 'test', path: '/metadata/uid', value: 'other' }]
  const calls: (() => Promise<unknown>)[] = [
    () => client.create(PERSISTENT_VOLUMES, pv('pv-1')),
    () => client.create(PERSISTENT_VOLUMES, pv('pv-1')),
    () => client.create(PERSISTENT_VOLUMES, pv('pv-2')),
    () => client.create(PERSISTENT_VOLUME_CLAIMS, pvc()),
    () => client.create(VOLUME_ATTACHMENTS, va('A_B')),
    () => client.patch(PERSISTENT_VOLUME_CLAIMS, claim, { kind: 'strategic', body: status }, { subresource: 'status' }),
    () => client.patch(PERSISTENT_VOLUMES, { name: 'pv-1' }, { kind: 'json', body: test }),
    () => client.patch(PERSISTENT_VOLUMES, { name: 'pv-1' }, { kind: 'merge', body: { metadata: { uid: 'other' } } }),
    () => client.replace(PERSISTENT_VOLUMES, pv('pv-1', { metadata: { resourceVersion: '1' } })),
    () => client.get(PERSISTENT_VOLUMES, { name: 'none' }),
    () => frames(client, 3),
    () => pages(client),
    () => client.delete(PERSISTENT_VOLUMES, { name: 'pv-2' }),
    () => client.discover('/apis/storage.k8s.io/v1'),
    () => client.discover('/apis/storage.k8s.io/v9'),
  ]
  const outcomes: unknown[] = []
  for (const call of calls) outcomes.push(await outcome(call()))
  return outcomes
}

test('the in-process client and the HTTP client return the same results', async () => {
  const time = new FakeClock()
  await using cluster = await startCluster({ api: { clock: time } })
  const deps = { clock: systemClock, log: silentLogger }
  const config = await loadClusterConfig({ kubeconfig: cluster.kubeconfig, env: {}, ...deps })
  const client = createKubeClient({ config, flow: flowOptions({}), userAgent: 'test/1', ...deps })
  const server: InProcessServer = createInProcessServer({ clock: new FakeClock() })
  const local: KubeClient = new InProcessClient(server, { errorOf: apiErrorOf, userAgent: 'test/1' })
  const uids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g
  const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null).replace(uids, '<uid>'))
  const expected = await conversation(client)
  client.close()
  const actual = await conversation(local)
  await server.stop()
  expect(plain(actual)).toEqual(plain(expected))
})
