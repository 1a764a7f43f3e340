import {
  type BodyFields,
  type CaseStep,
  type Cases,
  CORE,
  configMap,
  get,
  IN_DEFAULT,
  merge,
  post,
  putRequest,
  RBAC,
  STORAGE,
} from './case.ts'

const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
const TOKENS = '/apis/authentication.k8s.io/v1/tokenreviews'
const ROLES = `${RBAC}/namespaces/default/roles`
const BINDINGS = `${RBAC}/namespaces/default/rolebindings`

const asAlice = (ask: string, rest: Partial<CaseStep> = {}): CaseStep => ({ ask, as: 'alice', ...rest })
const clusterRole = (name: string, rules: unknown): CaseStep =>
  post(`${RBAC}/clusterroles`, { metadata: { name }, rules })
const clusterBinding = (name: string, role: string, subjects: unknown): CaseStep =>
  post(`${RBAC}/clusterrolebindings`, { metadata: { name }, roleRef: { kind: 'ClusterRole', name: role }, subjects })
const ALICE = [{ kind: 'User', name: 'alice' }]
const may = (user: string, resourceAttributes: BodyFields): CaseStep =>
  post(REVIEWS, { spec: { user, resourceAttributes } }, { only: ['spec', 'status'] })
const mayPath = (user: string, nonResourceAttributes: BodyFields, rest: Partial<CaseStep> = {}): CaseStep => ({
  ...rest,
  ask: `POST ${REVIEWS}`,
  body: { spec: { user, uid: 'u', groups: ['g'], extra: { a: ['b'] }, nonResourceAttributes } },
  only: ['spec', 'status'],
})

export const ACCESS_CASES: Cases = {
  'a user without rights': [
    asAlice(`GET ${CORE}/pods`),
    asAlice(`GET ${IN_DEFAULT}/pods`),
    asAlice(`GET ${IN_DEFAULT}/pods/x`),
    asAlice(`GET ${IN_DEFAULT}/pods/x/status`),
    asAlice(`GET ${CORE}/namespaces/default`),
    asAlice(`GET ${STORAGE}/csinodes/a`),
    asAlice(`POST ${IN_DEFAULT}/configmaps`, { body: configMap('x') }),
    asAlice(`PUT ${IN_DEFAULT}/configmaps/x`, { body: configMap('x') }),
    asAlice(`PATCH ${IN_DEFAULT}/configmaps/x`, { merge: {} }),
    asAlice(`DELETE ${IN_DEFAULT}/configmaps/x`),
    asAlice(`DELETE ${IN_DEFAULT}/configmaps`),
    asAlice(`GET ${CORE}/configmaps?watch=true`),
    asAlice(`GET ${CORE}/gadgets`),
    asAlice('GET /metrics'),
    asAlice('GET /healthz'),
    asAlice('GET /version', { only: ['major', 'minor', 'gitVersion'] }),
    asAlice('GET /api', { only: ['kind', 'versions'] }),
  ],
  tokens: [
    get(`${CORE}/pods`, { as: 'wrongToken' }),
    get(`${CORE}/pods`, { as: 'anonymous' }),
    get('/healthz', { as: 'anonymous' }),
    get('/api', { as: 'anonymous' }),
    post(TOKENS, { spec: { token: 'a-wrong-token' } }, { only: ['status'] }),
    post(TOKENS, { spec: {} }),
    get(TOKENS),
    post(`${IN_DEFAULT}/serviceaccounts`, { metadata: { name: 'account' } }),
    post(
      `${IN_DEFAULT}/serviceaccounts/account/token`,
      { spec: { expirationSeconds: 600 } },
      { answerName: 'issued', only: ['kind', 'metadata.name', 'spec.expirationSeconds'] },
    ),
    post(
      TOKENS,
      { spec: { token: '@issued.status.token' } },
      { only: ['status.authenticated', 'status.user.username', 'status.user.groups'] },
    ),
    post(
      `${IN_DEFAULT}/serviceaccounts/account/token`,
      { spec: { expirationSeconds: 5 } },
      { only: ['code', 'reason'] },
    ),
    post(`${IN_DEFAULT}/serviceaccounts/missing/token`, { spec: {} }),
  ],
  'rights by roles': [
    clusterRole('r-reader', [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }]),
    clusterBinding('r-reader', 'r-reader', ALICE),
    post(`${IN_DEFAULT}/configmaps`, configMap('r-one', { metadata: { name: 'r-one', labels: { set: 'r' } } })),
    asAlice(`GET ${IN_DEFAULT}/configmaps/r-one`, { granted: true }),
    asAlice(`GET ${CORE}/configmaps?labelSelector=set%3Dr`, { only: ['items.0.metadata.name'] }),
    asAlice(`PATCH ${IN_DEFAULT}/configmaps/r-one`, { merge: { data: { a: 'b' } } }),
    post(ROLES, {
      metadata: { name: 'r-writer' },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['*'], resourceNames: ['r-one'] }],
    }),
    post(BINDINGS, { metadata: { name: 'r-writer' }, roleRef: { kind: 'Role', name: 'r-writer' }, subjects: ALICE }),
    asAlice(`PATCH ${IN_DEFAULT}/configmaps/r-one`, { merge: { data: { a: 'b' } }, granted: true }),
    asAlice(`PATCH ${IN_DEFAULT}/configmaps/r-two`, { merge: { data: { a: 'b' } } }),
    asAlice(`GET ${IN_DEFAULT}/configmaps?watch=true&fieldSelector=metadata.name%3Dr-one&timeoutSeconds=5`, {
      frames: 1,
    }),
    asAlice(`GET ${IN_DEFAULT}/configmaps?watch=true&timeoutSeconds=5`),
    may('alice', { verb: 'patch', resource: 'configmaps', namespace: 'default', name: 'r-one' }),
    may('alice', { verb: 'patch', resource: 'configmaps', namespace: 'kube-system', name: 'r-one' }),
    may('alice', { verb: 'get', resource: 'configmaps', subresource: 'status', namespace: 'default' }),
    may('bob', { verb: 'get', resource: 'configmaps', namespace: 'default' }),
    post(
      REVIEWS,
      { spec: { user: 'x', groups: ['system:masters'], nonResourceAttributes: { verb: 'get', path: '/x' } } },
      { only: ['status'] },
    ),
    post(
      REVIEWS,
      {
        spec: { user: 'x', groups: ['system:authenticated'], nonResourceAttributes: { verb: 'get', path: '/api/x' } },
      },
      { only: ['status'] },
    ),
    post(REVIEWS, { spec: {} }),
  ],
  'rights to paths': [
    clusterRole('r-scraper', [{ nonResourceURLs: ['/metrics', '/debug/*'], verbs: ['get'] }]),
    clusterBinding('r-scraper', 'r-scraper', ALICE),
    mayPath('alice', { verb: 'get', path: '/metrics' }, { granted: true }),
    mayPath('alice', { verb: 'post', path: '/metrics' }),
    mayPath('alice', { verb: 'get', path: '/metrics/cadvisor' }),
    mayPath('alice', { verb: 'get', path: '/debug/stuck' }),
    mayPath('alice', { verb: 'get', path: '/debug' }),
    mayPath('bob', { verb: 'get', path: '/metrics' }),
  ],
  'a status is a right of its own': [
    clusterRole('r-status', [
      { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments/status'], verbs: ['patch'] },
    ]),
    clusterBinding('r-status', 'r-status', [
      { kind: 'User', name: 'alice' },
      { kind: 'ServiceAccount', name: 'a', namespace: 'default' },
    ]),
    asAlice(`PATCH ${STORAGE}/volumeattachments/x/status`, { merge: {}, granted: true }),
    asAlice(`PATCH ${STORAGE}/volumeattachments/x`, { merge: {} }),
    may('system:serviceaccount:default:a', {
      verb: 'patch',
      group: 'storage.k8s.io',
      resource: 'volumeattachments',
      subresource: 'status',
    }),
    may('system:serviceaccount:other:a', {
      verb: 'patch',
      group: 'storage.k8s.io',
      resource: 'volumeattachments',
      subresource: 'status',
    }),
  ],
  'roles that are refused': [
    clusterRole('r-a', [{ verbs: [] }]),
    clusterRole('r-a', [{ verbs: ['get'], resources: ['pods'] }]),
    clusterRole('r-a', [{ verbs: ['get'], nonResourceURLs: ['/x'], apiGroups: [''] }]),
    clusterRole('r:a', [{ verbs: ['get'], nonResourceURLs: ['/x'] }]),
    post(ROLES, { metadata: { name: 'r-b' }, rules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }] }),
    post(ROLES, { metadata: { name: 'r%b' } }),
    clusterBinding('r-c', '', ALICE),
    clusterBinding('r-c', 'x', [{ kind: 'Robot', name: 'r' }]),
    clusterBinding('r-c', 'x', [{ kind: 'ServiceAccount', name: 'a' }]),
    clusterBinding('r-d', 'x', [{ kind: 'Group', name: 'g' }]),
    merge(`${RBAC}/clusterrolebindings/r-d`, { roleRef: { name: 'y' } }),
    putRequest(`${BINDINGS}/r-e`, { metadata: { name: 'r-e' }, roleRef: { kind: 'Role', name: 'x' } }),
    post(BINDINGS, { metadata: { name: 'r-f' }, roleRef: { kind: 'Thing', name: 'x' } }),
  ],
}
