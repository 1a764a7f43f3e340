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

test('over plain HTTP a request without a token has admin rights, a wrong token is refused', async () => {
  expect((await ask('GET', CONFIGS)).code).toBe(200)
  expect((await ask('GET', CONFIGS, { token: 'wrong' })).code).toBe(401)
  expect((await ask('GET', CONFIGS, { token: 'alice' })).code).toBe(403)
})

test('a group that is bound to a role has its rights, and the log names the user', async () => {
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

function requestAs(
  token: string,
  path: string,
  { headers, body }: { headers: Readonly<Record<string, string>>; body?: object },
) {
  return fetch(api.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

const REVIEW = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
const REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

test.each([
  [{ 'impersonate-user': 'bob' }, { username: 'bob', groups: ['system:authenticated'] }],
  [
    { 'impersonate-user': 'bob', 'impersonate-uid': 'u', 'impersonate-group': 'a, b', 'impersonate-extra-x': '1' },
    { username: 'bob', uid: 'u', groups: ['a', 'b', 'system:authenticated'], extra: { x: ['1'] } },
  ],
  [
    { 'impersonate-user': 'system:serviceaccount:n:a' },
    {
      username: 'system:serviceaccount:n:a',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:n', 'system:authenticated'],
    },
  ],
])('the administrator may impersonate: %j', async (headers, userInfo) => {
  const response = await requestAs('admin', REVIEWS, { headers, body: REVIEW })
  expect(await response.json()).toMatchObject({ status: { userInfo } })
  const refused = await requestAs('admin', CONFIGS, { headers })
  expect([refused.status, await refused.json()]).toMatchObject([
    403,
    { message: expect.stringContaining(`User "${userInfo.username}" cannot list resource "configmaps"`) },
  ])
})

test('others may impersonate what their roles name, and an impersonated user needs a name', async () => {
  const messageOf = async (headers: Readonly<Record<string, string>>): Promise<unknown> =>
    ((await (await requestAs('alice', CONFIGS, { headers })).json()) as { message: unknown }).message
  const user = { 'impersonate-user': 'bob' }
  const may = 'User "alice" cannot impersonate resource'
  expect(await messageOf(user)).toBe(`users "bob" is forbidden: ${may} "users" in API group "" at the cluster scope`)
  api.create(CLUSTER_ROLES, {
    metadata: { name: 'imp' },
    rules: [{ apiGroups: [''], resources: ['users'], resourceNames: ['bob'], verbs: ['impersonate'] }],
  })
  api.create(CLUSTER_ROLE_BINDINGS, {
    metadata: { name: 'imp' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'imp' },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'alice' }],
  })
  expect(await messageOf(user)).toContain('User "bob" cannot list resource "configmaps"')
  expect(await messageOf({ ...user, 'impersonate-group': 'g' })).toBe(
    `groups "g" is forbidden: ${may} "groups" in API group "" at the cluster scope`,
  )
  expect(await messageOf({ ...user, 'impersonate-extra-scopes': 'g' })).toBe(
    `userextras.authentication.k8s.io "g" is forbidden: ${may} "userextras/scopes" in API group "authentication.k8s.io" at the cluster scope`,
  )
  expect(await messageOf({ 'impersonate-user': 'system:serviceaccount:n:a' })).toBe(
    `serviceaccounts "a" is forbidden: ${may} "serviceaccounts" in API group "" in the namespace "n"`,
  )
  expect(await messageOf({ 'impersonate-group': 'g' })).toBe(
    'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)} without impersonating a user name',
  )
})

test.each(['HEAD', 'OPTIONS'])('%s is refused for a resource', async (method) => {
  const response = await fetch(api.url + CONFIGS, { method })
  expect(response.status).toBe(405)
})

test('a service account token expires', async () => {
  const clock = new FakeClock()
  const tokens = new Authentication({ clock, adminToken: 'admin', open: false })
  const { token } = tokens.issue({ namespace: 'n', name: 'a', uid: 'u' }, 600)
  expect(tokens.userOf(`Bearer ${token}`)).toMatchObject({ name: 'system:serviceaccount:n:a', uid: 'u' })
  await clock.advance(600_000)
  expect(() => tokens.userOf(`Bearer ${token}`)).toThrow('Unauthorized')
  expect(tokens.userOf(undefined).name).toBe('system:anonymous')
})

test('a deleted namespace is emptied, and removed once no finalizer holds its objects', async () => {
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
