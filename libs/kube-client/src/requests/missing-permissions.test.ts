import { FakeClock } from '@csi-sidecars/base/testing'
import {
  CSI_STORAGE_CAPACITIES,
  LEASES,
  PODS,
  SECRETS,
  VOLUME_ATTACHMENTS,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { OwnedKubeClient } from '../create-client.ts'
import { AnsweringServer } from '../testing/answering-server.ts'
import { MissingPermissions } from './missing-permissions.ts'

const LINE = 'A permission is missing: add this rule to the role of the service account'

let clock: FakeClock
let server: AnsweringServer
let missing: MissingPermissions
let client: OwnedKubeClient
let log: ReturnType<typeof recordingLogger>
let why: string | undefined
beforeEach(async () => {
  clock = new FakeClock()
  log = recordingLogger()
  server = await AnsweringServer.start(clock)
  server.answer = (response) => {
    const body = { kind: 'List', metadata: { name: 'x', resourceVersion: '1' }, items: [] }
    if (why === undefined) response.end(JSON.stringify(body))
    else response.writeHead(403, { 'Content-Type': 'application/json' }).end(statusText(why))
  }
  missing = new MissingPermissions({ clock, log, metrics: server.metrics })
  client = server.connect(undefined, undefined, { log, missing })
  why = byRole
})
afterEach(() => server.close())

const byRole = 'secrets "x" is forbidden: User "u" cannot get resource "secrets" in API group "" at the cluster scope'
const statusText = (message: string): string =>
  JSON.stringify({ kind: 'Status', status: 'Failure', code: 403, reason: 'Forbidden', message })

const secretIn = (namespace: string) => client.get(SECRETS, { namespace, name: 'x' })
const lease = (verb: 'get' | 'create' | 'replace') => {
  const object = { metadata: { namespace: 'n', name: 'x' }, spec: {} } as never
  return verb === 'get' ? client.get(LEASES, { namespace: 'n', name: 'x' }) : client[verb](LEASES, object)
}
const list = async (options: { namespace?: string; optional?: boolean } = {}) => {
  for await (const _ of client.list(PODS, { project: () => undefined, ...options }));
}
const watch = async (options: { namespace?: string; optional?: boolean } = {}) => {
  for await (const _ of client.watch(PODS, options));
}
const patchStatus = () =>
  client.patch(VOLUME_ATTACHMENTS, { name: 'x' }, { kind: 'merge', body: {} }, { subresource: 'status' })

test.each([
  ['secrets: get', () => secretIn('n')],
  ['leases.coordination.k8s.io in namespace n: create, get, update', () => lease('get')],
  ['leases.coordination.k8s.io in namespace n: create, get, update', () => lease('create')],
  ['leases.coordination.k8s.io in namespace n: create, get, update', () => lease('replace')],
  ['pods: get, list, watch', () => list({ namespace: 'n' })],
  ['pods: get, list, watch', () => watch()],
  ['volumeattachments.storage.k8s.io/status: patch', patchStatus],
  ['volumeattachments.storage.k8s.io: delete', () => client.delete(VOLUME_ATTACHMENTS, { name: 'x' })],
  [
    'csistoragecapacities.storage.k8s.io in namespace n: get, list, watch',
    async () => {
      for await (const _ of client.watch(CSI_STORAGE_CAPACITIES, { namespace: 'n' }));
    },
  ],
  [
    'volumeattributesclasses.storage.k8s.io: get, list, watch',
    async () => {
      for await (const _ of client.watch(VOLUME_ATTRIBUTES_CLASSES, {}));
    },
  ],
] as const)('a refused request is reported as the missing rule `%s`', async (rule, send) => {
  await expect(send()).rejects.toThrow(byRole)
  expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([{ message: LINE, pairs: { rule } }])
  expect(missing.rules).toEqual([rule])
  const resource = rule.split(/[: ]/)[0]
  expect(await server.metrics.text()).toContain(`csi_sidecar_missing_permission{resource="${resource}"} 1\n`)
})

test('the log names a missing permission every ten minutes, and once more when it is granted', async () => {
  const lines = () => log.lines.filter(({ message }) => message === LINE).length
  const refused: number[] = []
  for (let minutes = 0; minutes <= 20; minutes += 5) {
    await secretIn('n').catch(() => refused.push(lines()))
    await clock.advance(300_000)
  }
  expect(refused).toEqual([1, 1, 2, 2, 3])
  why = undefined
  await secretIn('n')
  expect(log.lines.at(-1)).toMatchObject({ message: 'The missing permission was granted' })
  expect(missing.rules).toEqual([])
  expect(await server.metrics.text()).not.toContain('csi_sidecar_missing_permission{')
})

test('a permission that is refused in several namespaces is missing until each of them grants it', async () => {
  for (const namespace of ['a', 'b']) await expect(secretIn(namespace)).rejects.toThrow()
  expect(log.lines).toHaveLength(1)
  why = undefined
  await secretIn('a')
  expect(missing.rules).toEqual(['secrets: get'])
  await secretIn('b')
  expect(missing.rules).toEqual([])
})

test('a successful list does not prove the permission to watch', async () => {
  await expect(watch()).rejects.toThrow()
  why = undefined
  await list()
  expect(missing.rules).toEqual(['pods: get, list, watch'])
})

test('a successful watch proves the permission to list', async () => {
  await expect(list()).rejects.toThrow()
  why = undefined
  await watch()
  expect(missing.rules).toEqual([])
})

test('a missing permission is forgotten an hour after the last refusal', async () => {
  await expect(secretIn('n')).rejects.toThrow()
  await clock.advance(3_599_999)
  expect(missing.rules).toEqual(['secrets: get'])
  await clock.advance(1)
  expect(missing.rules).toEqual([])
})

test('a 403 from an admission plugin or to an optional request is not reported as a missing permission', async () => {
  await expect(list({ optional: true })).rejects.toThrow()
  await expect(watch({ optional: true })).rejects.toThrow()
  await expect(client.get(SECRETS, { namespace: 'n', name: 'x' }, { priority: 'background' })).rejects.toThrow()
  why = 'volumeattachments "x" is forbidden: exceeded quota'
  await expect(patchStatus()).rejects.toThrow(why)
  expect(missing.rules).toEqual([])
  expect(log.lines).toEqual([])
})
