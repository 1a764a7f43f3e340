import {
  type BodyFields,
  type CaseStep,
  type Cases,
  CORE,
  get,
  IN_DEFAULT,
  merge,
  pod,
  post,
  remove,
  STORAGE,
  TABLE,
} from './case.ts'

const CAPACITIES = `${STORAGE}/namespaces/default/csistoragecapacities`
const PODS = `${IN_DEFAULT}/pods`

const capacity = (name: string, fields: BodyFields = {}): CaseStep =>
  post(CAPACITIES, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIStorageCapacity',
    metadata: { name },
    storageClassName: 'class',
    capacity: '1Gi',
    ...fields,
  })
const declares = (source: BodyFields): CaseStep => {
  const { spec, ...rest } = pod('declares') as { readonly spec: BodyFields }
  const body = { ...rest, spec: { ...spec, volumes: [{ name: 'v', ...source }] } }
  return post(`${PODS}?dryRun=All`, body, { only: ['code', 'message'] })
}
const LABELS = { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] }

/** A pod with the fields that charts of CSI drivers use and for which the API server sets defaults. */
const DRIVER_POD: BodyFields = {
  containers: [
    {
      name: 'main',
      image: 'registry.example.com/driver:v1',
      ports: [{ name: 'http', containerPort: 8080 }],
      env: [{ name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
      livenessProbe: { httpGet: { path: '/healthz', port: 'http' } },
      readinessProbe: { grpc: { port: 9000 }, periodSeconds: 3 },
      startupProbe: { exec: { command: ['true'] }, failureThreshold: 30 },
      lifecycle: { preStop: { httpGet: { port: 1 } }, postStart: { exec: { command: ['true'] } } },
      resources: { limits: { memory: '1Gi' } },
      securityContext: { runAsNonRoot: true },
      volumeMounts: [{ name: 'token', mountPath: '/token' }],
    },
  ],
  volumes: [
    { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }, { downwardAPI: LABELS }] } },
    { name: 'labels', downwardAPI: LABELS },
    { name: 'host', hostPath: { path: '/dev' } },
    { name: 'empty' },
  ],
  serviceAccountName: 'driver',
  nodeSelector: { os: 'linux' },
}

export const OTHER_CASES: Cases = {
  'a pod as charts of CSI drivers write it': [
    post(PODS, pod('driver', DRIVER_POD)),
    post(PODS, pod('other', { ...DRIVER_POD, containers: [] })),
    post(PODS, pod('other', { ...DRIVER_POD, restartPolicy: 'Sometimes' })),
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
      ].map((spec): CaseStep => {
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
  ].map((accept): CaseStep => get(`${CORE}/namespaces/default`, { accept, only: ['kind', 'reason', 'message'] })),
}
