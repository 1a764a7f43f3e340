import type { Cases, Step } from './case.ts'
import { CORE, type Fields, IN_DEFAULT, pod, STORAGE, TABLE } from './objects.ts'
import { get, merge, post, remove, strategic } from './steps.ts'

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
const CAPACITIES = `${STORAGE}/namespaces/default/csistoragecapacities`
const PODS = `${IN_DEFAULT}/pods`

const labels = { app: 'a' }
const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'none' }] } }
const deployment = (name: string, spec: Fields = {}): Step =>
  post(DEPLOYMENTS, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: { selector: { matchLabels: labels }, template, ...spec },
  })
const budget = (name: string, spec: Fields = {}): Step =>
  post(BUDGETS, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name },
    spec: { selector: { matchLabels: labels }, minAvailable: 1, ...spec },
  })
const capacity = (name: string, fields: Fields = {}): Step =>
  post(CAPACITIES, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIStorageCapacity',
    metadata: { name },
    storageClassName: 'class',
    capacity: '1Gi',
    ...fields,
  })
const running = (name: string, ready = 'True'): readonly Step[] => [
  post(PODS, { ...pod(name, { nodeName: 'node-1' }), metadata: { name, labels } }, { only: ['kind'] }),
  merge(
    `${PODS}/${name}/status`,
    { status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready }] } },
    { only: ['status.phase'] },
  ),
]
const declares = (source: Fields): Step => {
  const { spec, ...rest } = pod('declares') as { readonly spec: Fields }
  const body = { ...rest, spec: { ...spec, volumes: [{ name: 'v', ...source }] } }
  return post(`${PODS}?dryRun=All`, body, { only: ['code', 'message'] })
}
const evict = (name: string, fields: Fields = {}): Step =>
  post(`${PODS}/${name}/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, namespace: 'default' },
    ...fields,
  })

export const APP_CASES: Cases = {
  'a deployment is kept, without what would make its pods': [
    deployment('dep-a'),
    get(`${DEPLOYMENTS}/dep-a`),
    strategic(`${DEPLOYMENTS}/dep-a`, { spec: { replicas: 3 } }),
    strategic(
      `${DEPLOYMENTS}/dep-a`,
      { spec: { template: { spec: { containers: [{ name: 'main', image: 'other:1' }] } } } },
      { only: ['spec.template.spec.containers', 'metadata.generation'] },
    ),
    merge(`${DEPLOYMENTS}/dep-a/status`, { status: { replicas: 3, observedGeneration: 3 }, spec: {} }),
    merge(`${DEPLOYMENTS}/dep-a`, { spec: { selector: { matchLabels: { app: 'b' } } } }),
    get(`${DEPLOYMENTS}/dep-a`, { accept: TABLE, only: ['columnDefinitions.0.name', 'rows.0.cells'] }),
    get(`${DEPLOYMENTS}?labelSelector=none`, { only: ['kind', 'items'] }),
    remove(`${DEPLOYMENTS}/dep-a`),
  ],
  'deployments that are refused, and other strategies': [
    deployment('dep-a', { selector: {} }),
    deployment('dep-a', { selector: { matchLabels: { app: 'b' } } }),
    deployment('dep-a', { template: { ...template, spec: { containers: [] } } }),
    deployment('dep-a', { template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } } }),
    deployment('dep-a', { replicas: -1 }),
    deployment('dep-b', { strategy: { type: 'Recreate' }, replicas: 0 }),
    deployment('dep-c', { strategy: { rollingUpdate: { maxSurge: 1 } } }),
    deployment('dep-d', {
      selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['a', 'b'] }] },
      template: { ...template, spec: { ...template.spec, volumes: [{ name: 'v' }], serviceAccountName: 'x' } },
    }),
  ],
  'capacities of storage': [
    capacity('cap-a', { nodeTopology: { matchLabels: { zone: 'a' } }, maximumVolumeSize: '10Mi' }),
    capacity('cap-b', { storageClassName: '' }),
    capacity('cap-b', { storageClassName: 'A_B' }),
    capacity('cap-b', { capacity: '-1' }),
    merge(`${CAPACITIES}/cap-a`, { capacity: '2Gi' }),
    merge(`${CAPACITIES}/cap-a`, { storageClassName: 'other' }),
    merge(`${CAPACITIES}/cap-a`, { nodeTopology: null }),
    get(`${STORAGE}/csistoragecapacities`, { only: ['kind', 'items.0.metadata.name'] }),
    get(CAPACITIES, { accept: TABLE, only: ['rows.0.cells'] }),
    remove(`${CAPACITIES}/cap-a`),
  ],
  'volumes that a pod declares': [
    ...['../x', 'a/..', '..', '..x', '/x', '', 'a/..b'].map((path) =>
      declares({ configMap: { name: 'c', items: [{ key: 'k', path }] } }),
    ),
    declares({ secret: { items: [{ key: '', path: '../x', mode: -1 }], defaultMode: 512 } }),
    declares({ configMap: { defaultMode: 511 } }),
    declares({ projected: { defaultMode: 512, sources: [{ secret: { items: [{ key: 'k', path: '..' }] } }] } }),
    declares({ csi: { driver: '' } }),
    declares({ csi: { driver: '../x', nodePublishSecretRef: { name: '' } } }),
    declares({ hostPath: { path: '/a/../b', type: 'Pipe' } }),
    declares({ ephemeral: {} }),
    declares({ emptyDir: {}, hostPath: { path: '' }, secret: { secretName: '' } }),
  ],
  eviction: [
    evict('missing'),
    ...running('evict-a'),
    evict('evict-a', { metadata: { name: 'other' } }),
    get(`${PODS}/evict-a/eviction`, { only: ['code', 'reason'] }),
    { ...evict('evict-a'), ask: `POST ${PODS}/evict-a/eviction?dryRun=All` },
    evict('evict-a', { deleteOptions: { preconditions: { uid: 'another' } } }),
    evict('evict-a', { deleteOptions: { gracePeriodSeconds: 5 } }),
    get(`${PODS}/evict-a`, { only: ['metadata.deletionGracePeriodSeconds', 'status'] }),
    merge(`${PODS}/evict-a`, { spec: { nodeName: 'other' } }),
    post(PODS, pod('evict-b'), { only: ['kind'] }),
    evict('evict-b'),
    get(`${PODS}/evict-b`, { only: ['reason'] }),
  ],
  'eviction within a budget': [
    budget('budget-a'),
    ...running('evict-a'),
    evict('evict-a'),
    merge(`${BUDGETS}/budget-a/status`, {
      status: { observedGeneration: 1, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
    }),
    ...running('evict-c', 'False'),
    evict('evict-a'),
    evict('evict-c'),
    merge(`${BUDGETS}/budget-a/status`, { status: { disruptionsAllowed: 1 } }, { only: ['status'] }),
    get(`${BUDGETS}/budget-a`, { accept: TABLE, only: ['rows.0.cells'] }),
    evict('evict-a'),
    get(`${BUDGETS}/budget-a`, { only: ['status.disruptionsAllowed'] }),
    budget('budget-b'),
    ...running('evict-b'),
    evict('evict-b'),
    budget('budget-c', { maxUnavailable: 1 }),
    remove(`${BUDGETS}/budget-b`),
  ],
  'who am I, and what may I do': [
    post(
      '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      {},
      { only: ['kind', 'metadata', 'status.userInfo.username'] },
    ),
    post(
      '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      {},
      { as: 'alice', only: ['status.userInfo.username', 'status.userInfo.uid'] },
    ),
    ...(['alice', undefined] as const).flatMap((as) =>
      [
        { resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } },
        { nonResourceAttributes: { verb: 'get', path: '/api/v9' } },
        {},
      ].map((spec): Step => {
        const ask = 'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
        return { ask, body: { spec }, ...(as === undefined ? {} : { as }) }
      }),
    ),
    get('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'),
  ],
  'documents with a slash at their end': [
    get('/version/', { only: ['major', 'minor', 'gitVersion'] }),
    get('/api/', { only: ['kind', 'versions'] }),
    get('/apis/', { only: ['kind'] }),
    get(`${CORE}/`, { only: ['kind', 'apiVersion', 'groupVersion'] }),
    get(CORE, { only: ['kind', 'apiVersion', 'groupVersion'] }),
    get(`${STORAGE}/`, { only: ['kind', 'apiVersion', 'groupVersion'] }),
    get('/apis/storage.k8s.io/', { only: ['kind', 'name'] }),
    get('/healthz/'),
    get('/apis/nothing.example.com/'),
    get('/version/', { as: 'alice', only: ['gitVersion'] }),
    get('/api/', { as: 'alice', only: ['kind'] }),
    get('/apis/', { as: 'alice', only: ['kind'] }),
  ],
  'OpenAPI as protobuf': [
    'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
    'application/com.github.proto-openapi.spec.v2.v1.0+protobuf, application/json',
    'application/json',
    'application/nothing',
  ].map((accept): Step => get('/openapi/v2', { accept, only: ['swagger'] })),
  'the form of an answer': [
    'application/json;q=0.1, application/json;as=Table;g=meta.k8s.io;v=v1;q=0.9',
    'application/json;as=Table;g=meta.k8s.io;v=v1;q=0.1, application/json;q=0.9',
    'application/json;as=Table;g=meta.k8s.io;v=v1, application/json',
    'application/json, application/json;as=Table;g=meta.k8s.io;v=v1',
    'application/nothing;q=1, application/json;q=0.2',
    '*/*;q=0.1, application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    'application/json;as=Nothing;g=meta.k8s.io;v=v1, application/json',
    'application/json;as=Table;g=meta.k8s.io;v=v2, application/json;as=Table;g=meta.k8s.io;v=v1',
    'application/json; charset=utf-8',
    'application/nothing',
  ].map((accept): Step => get(`${CORE}/namespaces/default`, { accept, only: ['kind', 'reason', 'message'] })),
}
