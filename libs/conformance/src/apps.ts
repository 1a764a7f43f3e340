import type { ConformanceCase, Step } from './case.ts'
import { CORE, IN_DEFAULT, pod, STORAGE } from './objects.ts'

type Fields = Readonly<Record<string, unknown>>

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
const CAPACITIES = `${STORAGE}/namespaces/default/csistoragecapacities`
const PODS = `${IN_DEFAULT}/pods`
const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1'

const labels = { app: 'a' }
const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'none' }] } }
const deployment = (name: string, spec: Fields = {}): Step => ({
  ask: `POST ${DEPLOYMENTS}`,
  body: {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: { selector: { matchLabels: labels }, template, ...spec },
  },
})
const budget = (name: string, spec: Fields = {}): Step => ({
  ask: `POST ${BUDGETS}`,
  body: {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name },
    spec: { selector: { matchLabels: labels }, minAvailable: 1, ...spec },
  },
})
const capacity = (name: string, fields: Fields = {}): Step => ({
  ask: `POST ${CAPACITIES}`,
  body: {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIStorageCapacity',
    metadata: { name },
    storageClassName: 'class',
    capacity: '1Gi',
    ...fields,
  },
})
const running = (name: string, ready = 'True'): readonly Step[] => [
  { ask: `POST ${PODS}`, body: { ...pod(name, { nodeName: 'node-1' }), metadata: { name, labels } }, only: ['kind'] },
  {
    ask: `PATCH ${PODS}/${name}/status`,
    merge: { status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready }] } },
    only: ['status.phase'],
  },
]
const declares = (source: Fields): Step => {
  const { spec, ...rest } = pod('declares') as { readonly spec: Fields }
  const body = { ...rest, spec: { ...spec, volumes: [{ name: 'v', ...source }] } }
  return { ask: `POST ${PODS}?dryRun=All`, body, only: ['code', 'message'] }
}
const evict = (name: string, fields: Fields = {}): Step => ({
  ask: `POST ${PODS}/${name}/eviction`,
  body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: 'default' }, ...fields },
})

export const APP_CASES: readonly ConformanceCase[] = [
  {
    name: 'a deployment is kept, without what would make its pods',
    steps: [
      deployment('dep-a'),
      { ask: `GET ${DEPLOYMENTS}/dep-a` },
      { ask: `PATCH ${DEPLOYMENTS}/dep-a`, strategic: { spec: { replicas: 3 } } },
      {
        ask: `PATCH ${DEPLOYMENTS}/dep-a`,
        strategic: { spec: { template: { spec: { containers: [{ name: 'main', image: 'other:1' }] } } } },
        only: ['spec.template.spec.containers', 'metadata.generation'],
      },
      { ask: `PATCH ${DEPLOYMENTS}/dep-a/status`, merge: { status: { replicas: 3, observedGeneration: 3 }, spec: {} } },
      { ask: `PATCH ${DEPLOYMENTS}/dep-a`, merge: { spec: { selector: { matchLabels: { app: 'b' } } } } },
      { ask: `GET ${DEPLOYMENTS}/dep-a`, accept: TABLE, only: ['columnDefinitions.0.name', 'rows.0.cells'] },
      { ask: `GET ${DEPLOYMENTS}?labelSelector=none`, only: ['kind', 'items'] },
      { ask: `DELETE ${DEPLOYMENTS}/dep-a` },
    ],
  },
  {
    name: 'deployments that are refused, and other strategies',
    steps: [
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
  },
  {
    name: 'capacities of storage',
    steps: [
      capacity('cap-a', { nodeTopology: { matchLabels: { zone: 'a' } }, maximumVolumeSize: '10Mi' }),
      capacity('cap-b', { storageClassName: '' }),
      capacity('cap-b', { storageClassName: 'A_B' }),
      capacity('cap-b', { capacity: '-1' }),
      { ask: `PATCH ${CAPACITIES}/cap-a`, merge: { capacity: '2Gi' } },
      { ask: `PATCH ${CAPACITIES}/cap-a`, merge: { storageClassName: 'other' } },
      { ask: `PATCH ${CAPACITIES}/cap-a`, merge: { nodeTopology: null } },
      { ask: `GET ${STORAGE}/csistoragecapacities`, only: ['kind', 'items.0.metadata.name'] },
      { ask: `GET ${CAPACITIES}`, accept: TABLE, only: ['rows.0.cells'] },
      { ask: `DELETE ${CAPACITIES}/cap-a` },
    ],
  },
  {
    name: 'volumes that a pod declares',
    steps: [
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
  },
  {
    name: 'eviction',
    steps: [
      evict('missing'),
      ...running('evict-a'),
      evict('evict-a', { metadata: { name: 'other' } }),
      { ask: `GET ${PODS}/evict-a/eviction`, only: ['code', 'reason'] },
      { ...evict('evict-a'), ask: `POST ${PODS}/evict-a/eviction?dryRun=All` },
      evict('evict-a', { deleteOptions: { preconditions: { uid: 'another' } } }),
      evict('evict-a', { deleteOptions: { gracePeriodSeconds: 5 } }),
      { ask: `GET ${PODS}/evict-a`, only: ['metadata.deletionGracePeriodSeconds', 'status'] },
      { ask: `PATCH ${PODS}/evict-a`, merge: { spec: { nodeName: 'other' } } },
      { ask: `POST ${PODS}`, body: pod('evict-b'), only: ['kind'] },
      evict('evict-b'),
      { ask: `GET ${PODS}/evict-b`, only: ['reason'] },
    ],
  },
  {
    name: 'eviction within a budget',
    steps: [
      budget('budget-a'),
      ...running('evict-a'),
      evict('evict-a'),
      {
        ask: `PATCH ${BUDGETS}/budget-a/status`,
        merge: { status: { observedGeneration: 1, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 } },
      },
      ...running('evict-c', 'False'),
      evict('evict-a'),
      evict('evict-c'),
      { ask: `PATCH ${BUDGETS}/budget-a/status`, merge: { status: { disruptionsAllowed: 1 } }, only: ['status'] },
      { ask: `GET ${BUDGETS}/budget-a`, accept: TABLE, only: ['rows.0.cells'] },
      evict('evict-a'),
      { ask: `GET ${BUDGETS}/budget-a`, only: ['status.disruptionsAllowed'] },
      budget('budget-b'),
      ...running('evict-b'),
      evict('evict-b'),
      budget('budget-c', { maxUnavailable: 1 }),
      { ask: `DELETE ${BUDGETS}/budget-b` },
    ],
  },
  {
    name: 'who am I, and what may I do',
    steps: [
      {
        ask: 'POST /apis/authentication.k8s.io/v1/selfsubjectreviews',
        body: {},
        only: ['kind', 'metadata', 'status.userInfo.username'],
      },
      {
        ask: 'POST /apis/authentication.k8s.io/v1/selfsubjectreviews',
        body: {},
        as: 'alice',
        only: ['status.userInfo.username', 'status.userInfo.uid'],
      },
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
      { ask: 'GET /apis/authorization.k8s.io/v1/selfsubjectaccessreviews' },
    ],
  },
  {
    name: 'documents with a slash at their end',
    steps: [
      { ask: 'GET /version/', only: ['major', 'minor', 'gitVersion'] },
      { ask: 'GET /api/', only: ['kind', 'versions'] },
      { ask: 'GET /apis/', only: ['kind'] },
      { ask: `GET ${CORE}/`, only: ['kind', 'apiVersion', 'groupVersion'] },
      { ask: `GET ${CORE}`, only: ['kind', 'apiVersion', 'groupVersion'] },
      { ask: `GET ${STORAGE}/`, only: ['kind', 'apiVersion', 'groupVersion'] },
      { ask: 'GET /apis/storage.k8s.io/', only: ['kind', 'name'] },
      { ask: 'GET /healthz/' },
      { ask: 'GET /apis/nothing.example.com/' },
      { ask: 'GET /version/', as: 'alice', only: ['gitVersion'] },
      { ask: 'GET /api/', as: 'alice', only: ['kind'] },
      { ask: 'GET /apis/', as: 'alice', only: ['kind'] },
    ],
  },
  {
    name: 'OpenAPI as protobuf',
    steps: [
      'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
      'application/com.github.proto-openapi.spec.v2.v1.0+protobuf, application/json',
      'application/json',
      'application/nothing',
    ].map((accept): Step => ({ ask: 'GET /openapi/v2', accept, only: ['swagger'] })),
  },
  {
    name: 'the form of an answer',
    steps: [
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
    ].map((accept): Step => ({ ask: `GET ${CORE}/namespaces/default`, accept, only: ['kind', 'reason', 'message'] })),
  },
]
