import type { ConformanceCase, Step } from './case.ts'
import { CORE, configMap, IN_DEFAULT, pod } from './objects.ts'

type Fields = Readonly<Record<string, unknown>>

const PODS = `${IN_DEFAULT}/pods`
const SECRETS = `${IN_DEFAULT}/secrets`
const CONFIGS = `${IN_DEFAULT}/configmaps`
const EVENTS = `${IN_DEFAULT}/events`
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases'

const event = (name: string, rest: Fields = {}): Fields => ({
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
const lease = (name: string, spec: Fields = {}, metadata: Fields = {}): Fields => ({
  metadata: { name, ...metadata },
  spec,
})
const secret = (name: string, rest: Fields = {}): Step => ({
  ask: `POST ${SECRETS}`,
  body: { metadata: { name }, ...rest },
})

const BINDINGS = `${IN_DEFAULT}/bindings`
const binding = (name: string, node: string, uid?: string) => ({
  apiVersion: 'v1',
  kind: 'Binding',
  metadata: { name, ...(uid === undefined ? {} : { uid }) },
  target: { apiVersion: 'v1', kind: 'Node', name: node },
})

export const CORE_CASES: readonly ConformanceCase[] = [
  {
    name: 'pods',
    steps: [
      {
        ask: `POST ${PODS}`,
        body: pod('p-a', { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] }),
      },
      {
        ask: `POST ${PODS}`,
        body: pod('p-b', {
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
      },
      { ask: `POST ${PODS}`, body: pod('p-c', { containers: [] }) },
      { ask: `POST ${PODS}`, body: pod('p-c', { containers: [{ image: 'x' }] }) },
      { ask: `POST ${PODS}`, body: pod('p-c', { containers: [{ name: 'A', image: 'x' }] }) },
      {
        ask: `POST ${PODS}`,
        body: pod('p-c', { containers: [{ name: 'a', image: 'x', volumeMounts: [{ name: 'n', mountPath: '/' }] }] }),
      },
      { ask: `POST ${PODS}`, body: pod('p-c', { restartPolicy: 'Sometimes' }) },
      { ask: `PATCH ${PODS}/p-a`, strategic: { spec: { containers: [{ name: 'main', image: 'other' }] } } },
      {
        ask: `PATCH ${PODS}/p-a`,
        strategic: { spec: { containers: [{ name: 'second', image: 'other' }] } },
        only: ['code', 'reason'],
      },
      { ask: `PATCH ${PODS}/p-a`, merge: { spec: { nodeName: 'node-2' } }, only: ['code', 'reason'] },
      { ask: `PATCH ${PODS}/p-a/status`, merge: { status: { phase: 'Running' }, spec: { nodeName: 'node-2' } } },
      { ask: `POST ${BINDINGS}`, body: binding('p-z', 'node-1') },
      { ask: `POST ${BINDINGS}`, body: binding('p-b', 'node-2') },
      { ask: `POST ${BINDINGS}`, body: binding('p-a', 'node-1', 'another') },
      { ask: `POST ${BINDINGS}`, body: binding('p-a', 'node-2') },
      { ask: `GET ${PODS}/p-a`, only: ['metadata.generation', 'spec.nodeName', 'status.conditions'] },
      { ask: `GET ${BINDINGS}` },
      { ask: `GET ${PODS}?fieldSelector=spec.nodeName%3Dnode-1`, only: ['items.0.metadata.name', 'items.1'] },
      { ask: `GET ${PODS}?fieldSelector=status.phase%21%3DRunning`, only: ['items.0.metadata.name', 'items.1'] },
      {
        ask: `GET ${PODS}?fieldSelector=spec.restartPolicy%3DAlways,spec.nodeName%3D`,
        only: ['items.0.metadata.name', 'items.1'],
      },
      { ask: `GET ${PODS}?fieldSelector=spec.color%3Dred` },
      {
        ask: `DELETE ${PODS}/p-b`,
        only: ['metadata.deletionGracePeriodSeconds', 'metadata.deletionTimestamp', 'metadata.generation'],
      },
      {
        ask: `DELETE ${PODS}/p-b?gracePeriodSeconds=5`,
        only: ['metadata.deletionGracePeriodSeconds', 'metadata.generation'],
      },
      { ask: `PATCH ${PODS}/p-b/status`, merge: { status: { phase: 'Succeeded' } }, only: ['status.phase'] },
      { ask: `DELETE ${PODS}/p-b`, only: ['metadata.deletionGracePeriodSeconds', 'metadata.generation'] },
      { ask: `GET ${PODS}/p-b`, only: ['code', 'metadata.name'] },
      { ask: `DELETE ${PODS}/p-b`, body: { gracePeriodSeconds: 0 }, only: ['kind', 'metadata.name'] },
      { ask: `GET ${PODS}/p-b` },
      { ask: `DELETE ${PODS}/p-a`, only: ['kind', 'metadata.name', 'metadata.deletionGracePeriodSeconds'] },
      { ask: `GET ${PODS}/p-a` },
    ],
  },
  {
    // A client that reads only what it has created itself never meets these.
    name: 'empty lists and times that are not set',
    steps: [
      { ask: `POST ${CORE}/nodes`, body: { metadata: { name: 'no-n' }, spec: { taints: [] } } },
      {
        ask: `PATCH ${CORE}/nodes/no-n/status`,
        merge: {
          status: {
            conditions: [{ type: 'Ready', status: 'True' }],
            volumesAttached: [],
            volumesInUse: [],
            images: [],
          },
        },
      },
      { ask: `POST ${CORE}/nodes`, body: { metadata: { name: 'no-i', labels: {}, finalizers: [] } } },
      {
        ask: `PATCH ${CORE}/nodes/no-i/status`,
        merge: { status: { images: [{ names: [] }], conditions: [] } },
        only: ['code', 'status.images', 'status.conditions'],
      },
      { ask: `POST ${PODS}`, body: pod('p-n', { volumes: [], tolerations: [] }), only: ['spec.volumes', 'status'] },
      {
        ask: `PATCH ${PODS}/p-n/status`,
        merge: {
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
        only: ['code', 'message', 'status'],
      },
      {
        ask: `POST ${EVENTS}`,
        body: event('e-n', { firstTimestamp: null, lastTimestamp: null, source: {}, count: 0 }),
      },
    ],
  },
  {
    name: 'nodes',
    steps: [
      { ask: `POST ${CORE}/nodes`, body: { metadata: { name: 'no-a' }, status: { capacity: { cpu: '2' } } } },
      { ask: `PATCH ${CORE}/nodes/no-a`, merge: { spec: { unschedulable: true, taints: null } } },
      { ask: `PATCH ${CORE}/nodes/no-a`, merge: { spec: { providerID: 'a://b' } } },
      { ask: `PATCH ${CORE}/nodes/no-a`, merge: { spec: { providerID: 'c://d' } } },
      {
        ask: `PATCH ${CORE}/nodes/no-a/status`,
        strategic: {
          status: {
            volumesAttached: [{ name: 'a', devicePath: 'b' }],
            conditions: [{ type: 'Ready', status: 'True' }],
          },
        },
      },
      { ask: `GET ${CORE}/nodes?fieldSelector=spec.unschedulable%3Dtrue`, only: ['items.0.metadata.name', 'items.1'] },
      { ask: `DELETE ${CORE}/nodes/no-a` },
    ],
  },
  {
    name: 'secrets and config maps',
    steps: [
      secret('s-a', { data: { a: 'YWJj' }, stringData: { b: 'text', a: 'over' } }),
      { ask: `GET ${SECRETS}/s-a` },
      { ask: `PATCH ${SECRETS}/s-a`, merge: { data: { a: null } } },
      { ask: `PATCH ${SECRETS}/s-a`, merge: { type: 'other' } },
      secret('s-b', { data: { a: '###' } }),
      secret('s-b', { data: { 'a b': 'YWJj' } }),
      secret('s-b', { data: { a: 'YWJj' }, immutable: true }),
      { ask: `PATCH ${SECRETS}/s-b`, merge: { data: { a: 'YWI=' } } },
      { ask: `PATCH ${SECRETS}/s-b`, merge: { immutable: false } },
      { ask: `GET ${SECRETS}?fieldSelector=type%3DOpaque`, only: ['items.0.metadata.name', 'items.2'] },
      { ask: `DELETE ${SECRETS}/s-a` },
      { ask: `POST ${CONFIGS}`, body: configMap('m-a', { data: { a: 'b' }, binaryData: { c: 'YWJj' } }) },
      { ask: `POST ${CONFIGS}`, body: configMap('m-b', { data: { a: 'b' }, binaryData: { a: 'YWJj' } }) },
      { ask: `POST ${CONFIGS}`, body: configMap('m-b', { data: { a: 5 } }) },
      { ask: `PUT ${CONFIGS}/m-a`, body: configMap('m-a', { data: {} }) },
      { ask: `DELETE ${CONFIGS}/m-a` },
    ],
  },
  {
    name: 'namespaces and service accounts',
    steps: [
      { ask: `POST ${CORE}/namespaces`, body: { metadata: { generateName: 'generated-' } }, keep: 'space' },
      { ask: `POST ${CORE}/namespaces`, body: { metadata: { name: 'c.space' } } },
      {
        ask: `PATCH ${CORE}/namespaces/@space.metadata.name`,
        merge: { spec: { finalizers: [] }, metadata: { labels: { a: 'b' } } },
      },
      { ask: `GET ${CORE}/namespaces/@space.metadata.name` },
      { ask: `GET ${CORE}/namespaces/@space.metadata.name/status` },
      { ask: `DELETE ${CORE}/namespaces/default` },
      { ask: `POST ${CORE}/namespaces/missing/configmaps`, body: configMap('x') },
      {
        ask: `POST ${CORE}/namespaces/@space.metadata.name/configmaps`,
        body: configMap('x', { metadata: { name: 'x', namespace: 'default' } }),
      },
      { ask: `PATCH ${CORE}/namespaces/@space.metadata.name`, merge: { metadata: { finalizers: ['a/b'] } } },
      { ask: `DELETE ${CORE}/namespaces/@space.metadata.name` },
      {
        ask: `POST ${CORE}/namespaces/@space.metadata.name/configmaps`,
        body: configMap('x'),
        only: ['code', 'reason'],
      },
      { ask: `POST ${IN_DEFAULT}/serviceaccounts`, body: { metadata: { name: 'a-a' }, secrets: [{ name: 's' }] } },
      { ask: `PATCH ${IN_DEFAULT}/serviceaccounts/a-a`, strategic: { secrets: [{ name: 't' }] } },
      { ask: `DELETE ${IN_DEFAULT}/serviceaccounts/a-a` },
    ],
  },
  {
    name: 'events',
    steps: [
      { ask: `POST ${EVENTS}`, body: event('e-a') },
      { ask: `PATCH ${EVENTS}/e-a`, merge: { count: 2, lastTimestamp: '2026-01-02T03:04:06Z' } },
      { ask: `PATCH ${EVENTS}/e-a`, strategic: { count: 3 } },
      {
        ask: `POST ${EVENTS}`,
        body: event('e-b', { involvedObject: { kind: 'Pod', namespace: 'kube-system', name: 'p' } }),
      },
      { ask: `POST ${EVENTS}`, body: event('e-c', { involvedObject: { kind: 'PersistentVolume', name: 'p' } }) },
      { ask: `POST ${EVENTS}`, body: event('e-d', { eventTime: '2026-01-02T03:04:05.123456Z' }) },
      {
        ask: `POST ${EVENTS}`,
        body: event('e-d', {
          eventTime: '2026-01-02T03:04:05.123456Z',
          reportingComponent: 'tests',
          reportingInstance: 'one',
          action: 'Act',
        }),
      },
      {
        ask: `GET ${EVENTS}?fieldSelector=involvedObject.name%3Dp,reason%3DBecause,source%3Dtests`,
        only: ['items.0.metadata.name'],
      },
      { ask: `GET ${EVENTS}?fieldSelector=message%3Dx` },
      { ask: `PUT ${EVENTS}/e-e`, body: event('e-e') },
      { ask: `DELETE ${EVENTS}/e-a` },
    ],
  },
  {
    name: 'leases',
    steps: [
      {
        ask: `POST ${LEASES}`,
        body: lease('l-a', {
          holderIdentity: 'me',
          leaseDurationSeconds: 15,
          renewTime: '2026-01-02T03:04:05.123456Z',
          leaseTransitions: 0,
        }),
        keep: 'lease',
      },
      { ask: `PUT ${LEASES}/l-a`, body: lease('l-a', { holderIdentity: 'you' }) },
      {
        ask: `PUT ${LEASES}/l-a`,
        body: lease('l-a', { holderIdentity: '' }, { resourceVersion: '@lease.metadata.resourceVersion' }),
      },
      {
        ask: `PUT ${LEASES}/l-a`,
        body: lease('l-a', { holderIdentity: 'late' }, { resourceVersion: '@lease.metadata.resourceVersion' }),
      },
      { ask: `PATCH ${LEASES}/l-a`, merge: { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } } },
      {
        ask: `PATCH ${LEASES}/l-a`,
        merge: { spec: { renewTime: '2026-01-02T03:04:05.1Z' } },
        only: ['code', 'reason'],
      },
      { ask: `PUT ${LEASES}/l-b`, body: lease('l-b', { acquireTime: '2026-01-02T05:04:05.000001+02:00' }) },
      { ask: `PUT ${LEASES}/l-c`, body: lease('l-d') },
      { ask: `DELETE ${LEASES}/l-a` },
    ],
  },
]
