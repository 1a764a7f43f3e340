import {
  type BodyFields,
  type CaseStep,
  type Cases,
  CORE,
  configMap,
  get,
  IN_DEFAULT,
  merge,
  pod,
  post,
  putRequest,
  remove,
  strategic,
} from './case.ts'

const PODS = `${IN_DEFAULT}/pods`
const SECRETS = `${IN_DEFAULT}/secrets`
const CONFIGS = `${IN_DEFAULT}/configmaps`
const EVENTS = `${IN_DEFAULT}/events`
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases'

const event = (name: string, rest: BodyFields = {}): BodyFields => ({
  metadata: { name },
  involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
  reason: 'Because',
  message: 'it happened',
  type: 'Normal',
  source: { component: 'tests' },
  firstTimestamp: '2026-01-02T03:04:05Z',
  lastTimestamp: '2026-01-02T03:04:05Z',
  count: 1,
  ...rest,
})
const lease = (name: string, spec: BodyFields = {}, metadata: BodyFields = {}): BodyFields => ({
  metadata: { name, ...metadata },
  spec,
})
const secret = (name: string, rest: BodyFields = {}): CaseStep => post(SECRETS, { metadata: { name }, ...rest })

const BINDINGS = `${IN_DEFAULT}/bindings`
const binding = (name: string, node: string, uid?: string) => ({
  apiVersion: 'v1',
  kind: 'Binding',
  metadata: { name, ...(uid === undefined ? {} : { uid }) },
  target: { apiVersion: 'v1', kind: 'Node', name: node },
})

export const CORE_CASES: Cases = {
  pods: [
    post(PODS, pod('p-a', { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] })),
    post(
      PODS,
      pod('p-b', {
        nodeName: 'node-1',
        containers: [
          {
            name: 'main',
            image: 'registry.example.com:5000/a/b:1.2',
            resources: { limits: { cpu: '1', memory: '1Gi' } },
            volumeMounts: [{ name: 'v', mountPath: '/v' }],
          },
        ],
        volumes: [
          { name: 'v', secret: { secretName: 's' } },
          { name: 'w' },
          { name: 'x', hostPath: { path: '/x' } },
          { name: 'y', csi: { driver: 'a.b' } },
        ],
      }),
    ),
    post(PODS, pod('p-c', { containers: [] })),
    post(PODS, pod('p-c', { containers: [{ image: 'x' }] })),
    post(PODS, pod('p-c', { containers: [{ name: 'A', image: 'x' }] })),
    post(PODS, pod('p-c', { containers: [{ name: 'a', image: 'x', volumeMounts: [{ name: 'n', mountPath: '/' }] }] })),
    post(PODS, pod('p-c', { restartPolicy: 'Sometimes' })),
    strategic(`${PODS}/p-a`, { spec: { containers: [{ name: 'main', image: 'other' }] } }),
    strategic(
      `${PODS}/p-a`,
      { spec: { containers: [{ name: 'second', image: 'other' }] } },
      { only: ['code', 'reason'] },
    ),
    merge(`${PODS}/p-a`, { spec: { nodeName: 'node-2' } }, { only: ['code', 'reason'] }),
    merge(`${PODS}/p-a/status`, { status: { phase: 'Running' }, spec: { nodeName: 'node-2' } }),
    post(BINDINGS, binding('p-z', 'node-1')),
    post(BINDINGS, binding('p-b', 'node-2')),
    post(BINDINGS, binding('p-a', 'node-1', 'another')),
    post(BINDINGS, binding('p-a', 'node-2')),
    get(`${PODS}/p-a`, { only: ['metadata.generation', 'spec.nodeName', 'status.conditions'] }),
    get(BINDINGS),
    get(`${PODS}?fieldSelector=spec.nodeName%3Dnode-1`, { only: ['items.0.metadata.name', 'items.1'] }),
    get(`${PODS}?fieldSelector=status.phase%21%3DRunning`, { only: ['items.0.metadata.name', 'items.1'] }),
    get(`${PODS}?fieldSelector=spec.restartPolicy%3DAlways,spec.nodeName%3D`, {
      only: ['items.0.metadata.name', 'items.1'],
    }),
    get(`${PODS}?fieldSelector=spec.color%3Dred`),
    remove(`${PODS}/p-b`, {
      only: ['metadata.deletionGracePeriodSeconds', 'metadata.deletionTimestamp', 'metadata.generation'],
    }),
    remove(`${PODS}/p-b?gracePeriodSeconds=5`, {
      only: ['metadata.deletionGracePeriodSeconds', 'metadata.generation'],
    }),
    merge(`${PODS}/p-b/status`, { status: { phase: 'Succeeded' } }, { only: ['status.phase'] }),
    remove(`${PODS}/p-b`, { only: ['metadata.deletionGracePeriodSeconds', 'metadata.generation'] }),
    get(`${PODS}/p-b`, { only: ['code', 'metadata.name'] }),
    remove(`${PODS}/p-b`, { body: { gracePeriodSeconds: 0 }, only: ['kind', 'metadata.name'] }),
    get(`${PODS}/p-b`),
    remove(`${PODS}/p-a`, { only: ['kind', 'metadata.name', 'metadata.deletionGracePeriodSeconds'] }),
    get(`${PODS}/p-a`),
  ],
  // Stored objects of other clients may have empty lists and null times, which our own objects do not have.
  'empty lists and times that are not set': [
    post(`${CORE}/nodes`, { metadata: { name: 'no-n' }, spec: { taints: [] } }),
    merge(`${CORE}/nodes/no-n/status`, {
      status: {
        conditions: [{ type: 'Ready', status: 'True' }],
        volumesAttached: [],
        volumesInUse: [],
        images: [],
      },
    }),
    post(`${CORE}/nodes`, { metadata: { name: 'no-i', labels: {}, finalizers: [] } }),
    merge(
      `${CORE}/nodes/no-i/status`,
      { status: { images: [{ names: [] }], conditions: [] } },
      { only: ['code', 'status.images', 'status.conditions'] },
    ),
    post(PODS, pod('p-n', { volumes: [], tolerations: [] }), { only: ['spec.volumes', 'status'] }),
    merge(
      `${PODS}/p-n/status`,
      {
        status: {
          conditions: [{ type: 'PodScheduled', status: 'False' }],
          containerStatuses: [
            {
              name: 'main',
              image: 'i',
              imageID: 'd',
              ready: false,
              restartCount: 0,
              state: { terminated: { exitCode: 1 } },
            },
          ],
        },
      },
      { only: ['code', 'message', 'status'] },
    ),
    post(EVENTS, event('e-n', { firstTimestamp: null, lastTimestamp: null, source: {}, count: 0 })),
  ],
  nodes: [
    post(`${CORE}/nodes`, { metadata: { name: 'no-a' }, status: { capacity: { cpu: '2' } } }),
    merge(`${CORE}/nodes/no-a`, { spec: { unschedulable: true, taints: null } }),
    merge(`${CORE}/nodes/no-a`, { spec: { providerID: 'a://b' } }),
    merge(`${CORE}/nodes/no-a`, { spec: { providerID: 'c://d' } }),
    strategic(`${CORE}/nodes/no-a/status`, {
      status: {
        volumesAttached: [{ name: 'a', devicePath: 'b' }],
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    }),
    get(`${CORE}/nodes?fieldSelector=spec.unschedulable%3Dtrue`, { only: ['items.0.metadata.name', 'items.1'] }),
    remove(`${CORE}/nodes/no-a`),
  ],
  'secrets and config maps': [
    secret('s-a', { data: { a: 'YWJj' }, stringData: { b: 'text', a: 'over' } }),
    get(`${SECRETS}/s-a`),
    merge(`${SECRETS}/s-a`, { data: { a: null } }),
    merge(`${SECRETS}/s-a`, { type: 'other' }),
    secret('s-b', { data: { a: '###' } }),
    secret('s-b', { data: { 'a b': 'YWJj' } }),
    secret('s-b', { data: { a: 'YWJj' }, immutable: true }),
    merge(`${SECRETS}/s-b`, { data: { a: 'YWI=' } }),
    merge(`${SECRETS}/s-b`, { immutable: false }),
    get(`${SECRETS}?fieldSelector=type%3DOpaque`, { only: ['items.0.metadata.name', 'items.2'] }),
    remove(`${SECRETS}/s-a`),
    post(CONFIGS, configMap('m-a', { data: { a: 'b' }, binaryData: { c: 'YWJj' } })),
    post(CONFIGS, configMap('m-b', { data: { a: 'b' }, binaryData: { a: 'YWJj' } })),
    post(CONFIGS, configMap('m-b', { data: { a: 5 } })),
    putRequest(`${CONFIGS}/m-a`, configMap('m-a', { data: {} })),
    remove(`${CONFIGS}/m-a`),
  ],
  'namespaces and service accounts': [
    post(`${CORE}/namespaces`, { metadata: { generateName: 'generated-' } }, { answerName: 'space' }),
    post(`${CORE}/namespaces`, { metadata: { name: 'c.space' } }),
    merge(`${CORE}/namespaces/@space.metadata.name`, { spec: { finalizers: [] }, metadata: { labels: { a: 'b' } } }),
    get(`${CORE}/namespaces/@space.metadata.name`),
    get(`${CORE}/namespaces/@space.metadata.name/status`),
    remove(`${CORE}/namespaces/default`),
    post(`${CORE}/namespaces/missing/configmaps`, configMap('x')),
    post(
      `${CORE}/namespaces/@space.metadata.name/configmaps`,
      configMap('x', { metadata: { name: 'x', namespace: 'default' } }),
    ),
    merge(`${CORE}/namespaces/@space.metadata.name`, { metadata: { finalizers: ['a/b'] } }),
    remove(`${CORE}/namespaces/@space.metadata.name`),
    post(`${CORE}/namespaces/@space.metadata.name/configmaps`, configMap('x'), { only: ['code', 'reason'] }),
    post(`${IN_DEFAULT}/serviceaccounts`, { metadata: { name: 'a-a' }, secrets: [{ name: 's' }] }),
    strategic(`${IN_DEFAULT}/serviceaccounts/a-a`, { secrets: [{ name: 't' }] }),
    remove(`${IN_DEFAULT}/serviceaccounts/a-a`),
  ],
  events: [
    post(EVENTS, event('e-a')),
    merge(`${EVENTS}/e-a`, { count: 2, lastTimestamp: '2026-01-02T03:04:06Z' }),
    strategic(`${EVENTS}/e-a`, { count: 3 }),
    post(EVENTS, event('e-b', { involvedObject: { kind: 'Pod', namespace: 'kube-system', name: 'p' } })),
    post(EVENTS, event('e-c', { involvedObject: { kind: 'PersistentVolume', name: 'p' } })),
    post(EVENTS, event('e-d', { eventTime: '2026-01-02T03:04:05.123456Z' })),
    post(
      EVENTS,
      event('e-d', {
        eventTime: '2026-01-02T03:04:05.123456Z',
        reportingComponent: 'tests',
        reportingInstance: 'one',
        action: 'Act',
      }),
    ),
    get(`${EVENTS}?fieldSelector=involvedObject.name%3Dp,reason%3DBecause,source%3Dtests`, {
      only: ['items.0.metadata.name'],
    }),
    get(`${EVENTS}?fieldSelector=message%3Dx`),
    putRequest(`${EVENTS}/e-e`, event('e-e')),
    remove(`${EVENTS}/e-a`),
  ],
  leases: [
    post(
      LEASES,
      lease('l-a', {
        holderIdentity: 'me',
        leaseDurationSeconds: 15,
        renewTime: '2026-01-02T03:04:05.123456Z',
        leaseTransitions: 0,
      }),
      { answerName: 'lease' },
    ),
    putRequest(`${LEASES}/l-a`, lease('l-a', { holderIdentity: 'you' })),
    putRequest(
      `${LEASES}/l-a`,
      lease('l-a', { holderIdentity: '' }, { resourceVersion: '@lease.metadata.resourceVersion' }),
    ),
    putRequest(
      `${LEASES}/l-a`,
      lease('l-a', { holderIdentity: 'late' }, { resourceVersion: '@lease.metadata.resourceVersion' }),
    ),
    merge(`${LEASES}/l-a`, { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } }),
    merge(`${LEASES}/l-a`, { spec: { renewTime: '2026-01-02T03:04:05.1Z' } }, { only: ['code', 'reason'] }),
    putRequest(`${LEASES}/l-b`, lease('l-b', { acquireTime: '2026-01-02T05:04:05.000001+02:00' })),
    putRequest(`${LEASES}/l-c`, lease('l-d')),
    remove(`${LEASES}/l-a`),
  ],
}
