import type { ConformanceCase, Step } from './case.ts'
import { claim, IN_DEFAULT } from './objects.ts'

type Fields = Readonly<Record<string, unknown>>

const APPS = '/apis/apps/v1/namespaces/default'
const SERVICES = `${IN_DEFAULT}/services`
const POLICIES = '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies'
const PRIORITIES = '/apis/scheduling.k8s.io/v1/priorityclasses'
const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1'

const labels = { app: 'a' }
/** All that charts of CSI drivers say of their pods and that a server completes. */
const CONTAINER = {
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
}
const VOLUMES = [
  { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }, { downwardAPI: ITEMS() }] } },
  { name: 'labels', downwardAPI: ITEMS() },
  { name: 'host', hostPath: { path: '/dev' } },
]
const template = {
  metadata: { labels },
  spec: { containers: [CONTAINER], volumes: VOLUMES, nodeSelector: { os: 'linux' } },
}

function ITEMS(): Fields {
  return { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] }
}

const workload = (kind: string, name: string, spec: Fields = {}): Step => ({
  ask: `POST ${APPS}/${kind.toLowerCase()}s`,
  body: {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name },
    spec: { selector: { matchLabels: labels }, template, ...spec },
  },
})
const service = (name: string, spec: Fields): Step => ({
  ask: `POST ${SERVICES}`,
  body: { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec },
})
const policy = (name: string, spec: Fields): Step => ({
  ask: `POST ${POLICIES}`,
  body: {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name },
    spec: { podSelector: {}, ...spec },
  },
})
const priority = (name: string, fields: Fields): Step => ({
  ask: `POST ${PRIORITIES}`,
  body: { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name }, ...fields },
})
const shown = (path: string): Step => ({
  ask: `GET ${path}`,
  accept: TABLE,
  only: ['columnDefinitions', 'rows.0.cells'],
})

const OTHER_LABELS = {
  spec: { selector: { matchLabels: { app: 'b' } }, template: { metadata: { labels: { app: 'b' } } } },
}
const image = (name: string): Fields => ({
  spec: { template: { spec: { containers: [{ name: 'main', image: name }] } } },
})

function kept(plural: string, kind: string): ConformanceCase {
  const path = `${APPS}/${plural}/app-a`
  return {
    name: `a ${kind} is kept, without what would make its pods`,
    steps: [
      workload(kind, 'app-a'),
      { ask: `PATCH ${path}`, strategic: image('other:2'), only: ['metadata.generation', 'metadata.annotations'] },
      {
        ask: `PATCH ${path}`,
        merge: { metadata: { labels: { x: 'y' } } },
        only: ['metadata.generation', 'metadata.annotations'],
      },
      {
        ask: `PATCH ${path}/status`,
        merge: { status: { observedGeneration: 2 } },
        only: ['status', 'metadata.generation'],
      },
      { ask: `PATCH ${path}`, merge: OTHER_LABELS },
      shown(path),
      workload(kind, 'app-b', { selector: {} }),
      workload(kind, 'app-b', {
        template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } },
      }),
      workload(kind, 'app-b', { template: { metadata: {}, spec: template.spec } }),
      { ask: `DELETE ${path}` },
    ],
  }
}

export const WORKLOAD_CASES: readonly ConformanceCase[] = [
  kept('deployments', 'Deployment'),
  kept('replicasets', 'ReplicaSet'),
  kept('daemonsets', 'DaemonSet'),
  kept('statefulsets', 'StatefulSet'),
  {
    name: 'strategies of updates, and claims of a StatefulSet',
    steps: [
      workload('DaemonSet', 'app-a', { updateStrategy: { type: 'OnDelete' } }),
      workload('DaemonSet', 'app-b', { updateStrategy: { rollingUpdate: { maxUnavailable: '10%' } } }),
      workload('StatefulSet', 'app-a', {
        updateStrategy: { type: 'OnDelete' },
        podManagementPolicy: 'Parallel',
      }),
      workload('StatefulSet', 'app-b', {
        serviceName: 'app',
        replicas: 3,
        volumeClaimTemplates: [
          claim('data'),
          {
            metadata: { name: 'more' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        ],
      }),
      {
        ask: `PATCH ${APPS}/statefulsets/app-a`,
        merge: { spec: { replicas: 2, minReadySeconds: 5 } },
        only: ['spec.replicas'],
      },
      { ask: `PATCH ${APPS}/statefulsets/app-a`, merge: { spec: { serviceName: 'other' } } },
      { ask: `PATCH ${APPS}/statefulsets/app-a`, merge: { spec: { podManagementPolicy: 'Any' } } },
    ],
  },
  {
    name: 'services',
    steps: [
      service('svc-a', { selector: labels, ports: [{ port: 80 }] }),
      { ask: `GET ${SERVICES}/svc-a`, accept: TABLE, only: ['columnDefinitions', 'rows.0.cells'] },
      { ask: `PATCH ${SERVICES}/svc-a`, merge: { spec: { ports: [{ port: 81, targetPort: 'http' }] } } },
      { ask: `PATCH ${SERVICES}/svc-a`, strategic: { spec: { ports: [{ port: 82, name: 'two' }] } } },
      { ask: `PATCH ${SERVICES}/svc-a`, merge: { spec: { clusterIP: null } }, only: ['spec.type', 'spec.clusterIP'] },
      {
        ask: `PATCH ${SERVICES}/svc-a`,
        merge: { spec: { type: 'NodePort' } },
        only: ['spec.type', 'spec.externalTrafficPolicy', 'spec.ports.0.port'],
      },
      service('svc-b', { clusterIP: 'None', ports: [{ port: 80, protocol: 'UDP' }], selector: labels }),
      { ask: `GET ${SERVICES}/svc-b`, accept: TABLE, only: ['rows.0.cells'] },
      service('svc-c', { type: 'ExternalName', externalName: 'example.com' }),
      { ask: `GET ${SERVICES}/svc-c`, accept: TABLE, only: ['rows.0.cells'] },
      service('svc-d', { type: 'NodePort', ports: [{ port: 80 }], sessionAffinity: 'ClientIP' }),
      { ask: `GET ${SERVICES}/svc-d`, accept: TABLE, only: ['rows.0.cells'] },
      service('svc-e', {
        type: 'LoadBalancer',
        ports: [
          { name: 'a', port: 80 },
          { name: 'b', port: 81 },
        ],
      }),
      { ask: `GET ${SERVICES}/svc-e`, accept: TABLE, only: ['rows.0.cells'] },
      service('svc-f', {}),
      service('svc-f', { ports: [{ port: 80 }, { port: 81 }] }),
      service('svc-f', { ports: [{ port: 0 }] }),
      service('svc-f', { ports: [{ port: 80, nodePort: 30_080 }] }),
      service('svc-f', { type: 'Other', ports: [{ port: 80 }] }),
      service('svc-f', { sessionAffinity: 'Other', ports: [{ port: 80, protocol: 'HTTP' }] }),
      service('svc-f', { type: 'NodePort', clusterIP: 'None', ports: [{ port: 80 }] }),
      service('svc-f', { type: 'ExternalName' }),
      service('-f', { ports: [{ port: 80 }] }),
      {
        ask: `PUT ${SERVICES}/svc-f`,
        body: { metadata: { name: 'svc-f' }, spec: { ports: [{ port: 80 }] } },
        only: ['kind', 'spec.type'],
      },
      { ask: `DELETE ${SERVICES}/svc-a`, only: ['kind', 'status', 'metadata.name'] },
    ],
  },
  {
    name: 'how many pods a workload wants',
    steps: [
      workload('Deployment', 'app-a', { replicas: 2 }),
      { ask: `GET ${APPS}/deployments/app-a/scale` },
      { ask: `PATCH ${APPS}/deployments/app-a/scale?fieldManager=kubectl-scale`, merge: { spec: { replicas: 3 } } },
      { ask: `GET ${APPS}/deployments/app-a`, only: ['metadata.generation', 'spec.replicas'], managers: true },
      { ask: `PUT ${APPS}/deployments/app-a/scale`, body: { metadata: { name: 'app-a' }, spec: {} } },
      {
        ask: `PUT ${APPS}/deployments/app-a/scale`,
        body: { metadata: { name: 'app-a', resourceVersion: '1' }, spec: { replicas: 1 } },
      },
      {
        ask: `PATCH ${APPS}/deployments/app-a/scale?fieldManager=scaler`,
        json: [{ op: 'replace', path: '/spec', value: { replicas: 5 } }],
      },
      { ask: `GET ${APPS}/deployments/app-a`, only: ['spec.replicas'] },
      { ask: `PATCH ${APPS}/deployments/app-a/scale`, merge: { spec: { replicas: -1 } } },
      { ask: `DELETE ${APPS}/deployments/app-a/scale`, only: ['code', 'reason'] },
      { ask: `GET ${APPS}/daemonsets/app-a/scale`, only: ['code', 'reason'] },
      workload('StatefulSet', 'app-a', {
        selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['a', 'b'] }] },
      }),
      { ask: `GET ${APPS}/statefulsets/app-a/scale` },
    ],
  },
  {
    name: 'network policies',
    steps: [
      policy('pol-a', {}),
      policy('pol-b', {
        podSelector: { matchLabels: labels },
        ingress: [
          { ports: [{ port: 'http' }], from: [{ namespaceSelector: {} }, { ipBlock: { cidr: '10.0.0.0/8' } }] },
        ],
        egress: [{}],
      }),
      {
        ask: `PATCH ${POLICIES}/pol-b`,
        merge: { spec: { egress: null } },
        only: ['metadata.generation', 'spec.policyTypes'],
      },
      { ask: `GET ${POLICIES}/pol-b`, accept: TABLE, only: ['columnDefinitions', 'rows.0.cells'] },
      policy('pol-c', { policyTypes: ['Both'] }),
      { ask: `DELETE ${POLICIES}/pol-a` },
    ],
  },
  {
    name: 'classes of priority',
    steps: [
      priority('pri-a', { value: 10, description: 'ten' }),
      {
        ask: `PATCH ${PRIORITIES}/pri-a`,
        merge: { description: 'more' },
        only: ['metadata.generation', 'description'],
      },
      { ask: `PATCH ${PRIORITIES}/pri-a`, merge: { value: 11 } },
      { ask: `PATCH ${PRIORITIES}/pri-a`, merge: { preemptionPolicy: 'Never' } },
      shown(`${PRIORITIES}/pri-a`),
      priority('pri-b', { value: 2_000_000_000 }),
      priority('pri-b', { value: 1, preemptionPolicy: 'Maybe' }),
      {
        ask: `GET ${PRIORITIES}/system-node-critical`,
        only: ['kind', 'value', 'preemptionPolicy', 'metadata.generation'],
      },
      { ask: `DELETE ${PRIORITIES}/pri-a` },
    ],
  },
]
