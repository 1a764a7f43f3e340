import { FakeClock } from '@csi-sidecars/base/testing'
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CONFIG_MAPS,
  NAMESPACES,
  SERVICE_ACCOUNTS,
} from '@csi-sidecars/kube-types'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type ApiServer, startApiServer } from '../server.ts'
import { Authentication } from './authentication.ts'

let api: ApiServer
beforeEach(async () => {
  api = await startApiServer({ adminToken: 'admin', tokens: [{ token: 'alice', user: 'alice', groups: ['staff'] }] })
})
afterEach(() => api.stop())

async function ask(
  method: string,
  path: string,
  { token, body }: { token?: string; body?: object } = {},
): Promise<{ code: number; body: unknown }> {
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    'content-type': 'application/json',
  }
  const response = await fetch(api.url + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { code: response.status, body: await response.json() }
}

const CONFIGS = '/api/v1/namespaces/default/configmaps'

test('over plain HTTP a request without a token has admin rights, and a wrong token is refused', async () => {
  expect((await ask('GET', CONFIGS)).code).toBe(200)
  expect((await ask('GET', CONFIGS, { token: 'wrong' })).code).toBe(401)
  expect((await ask('GET', CONFIGS, { token: 'alice' })).code).toBe(403)
})

test('a user gets the rights of its groups, and the request log names the user', async () => {
  api.create(CLUSTER_ROLES, {
    metadata: { name: 'reader' },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }],
  })
  api.create(CLUSTER_ROLE_BINDINGS, {
    metadata: { name: 'reader' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' },
    subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'staff' }],
  })
  expect((await ask('GET', CONFIGS, { token: 'alice' })).code).toBe(200)
  expect((await ask('POST', CONFIGS, { token: 'alice', body: { metadata: { name: 'x' } } })).code).toBe(403)
  expect(api.requests.matching({ user: 'alice' }).map(({ verb, code }) => [verb, code])).toEqual([
    ['list', 200],
    ['create', 403],
  ])
})

test.each(['HEAD', 'OPTIONS'])('the server answers 405 to a %s request for a resource', async (method) => {
  const response = await fetch(api.url + CONFIGS, { method })
  expect(response.status).toBe(405)
})

test('a service account token is refused after it has expired', async () => {
  const clock = new FakeClock()
  const tokens = new Authentication({ clock, adminToken: 'admin', open: false })
  const { token } = tokens.issue({ namespace: 'n', name: 'a', uid: 'u' }, 600)
  expect(tokens.userOf(`Bearer ${token}`)).toMatchObject({ name: 'system:serviceaccount:n:a', uid: 'u' })
  await clock.advance(600_000)
  expect(() => tokens.userOf(`Bearer ${token}`)).toThrow('Unauthorized')
  expect(tokens.userOf(undefined).name).toBe('system:anonymous')
})

test('the server deletes the objects in a deleted namespace, and then the namespace', async () => {
  api.create(CONFIG_MAPS, { metadata: { name: 'c', namespace: 'space', finalizers: ['a/b'] } })
  api.create(SERVICE_ACCOUNTS, { metadata: { name: 's', namespace: 'space' } })
  expect((await ask('DELETE', '/api/v1/namespaces/space')).body).toMatchObject({ status: { phase: 'Terminating' } })
  await api.untilGone(SERVICE_ACCOUNTS, { name: 's', namespace: 'space' })
  await api.until(CONFIG_MAPS, { name: 'c', namespace: 'space' }, ({ metadata }) => metadata?.deletionTimestamp)
  expect(api.get(NAMESPACES, { name: 'space' })?.status?.phase).toBe('Terminating')
  api.update(CONFIG_MAPS, { name: 'c', namespace: 'space' }, (old) => ({
    ...old,
    metadata: { ...old.metadata, finalizers: [] },
  }))
  await api.untilGone(NAMESPACES, { name: 'space' })
})
