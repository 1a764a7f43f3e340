import type { Cases, Step } from './case.ts'
import { claim, type Fields, IN_DEFAULT, TABLE } from './objects.ts'
import { get, jsonPatch, merge, post, put, remove, strategic } from './steps.ts'

const APPS = '/apis/apps/v1/namespaces/default'
const SERVICES = `${IN_DEFAULT}/services`
const POLICIES = '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies'
const PRIORITIES = '/apis/scheduling.k8s.io/v1/priorityclasses'

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

const workload = (kind: string, name: string, spec: Fields = {}): Step =>
  post(`${APPS}/${kind.toLowerCase()}s`, {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name },
    spec: { selector: { matchLabels: labels }, template, ...spec },
  })
const service = (name: string, spec: Fields): Step =>
  post(SERVICES, { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec })
const policy = (name: string, spec: Fields): Step =>
  post(POLICIES, {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name },
    spec: { podSelector: {}, ...spec },
  })
const priority = (name: string, fields: Fields): Step =>
  post(PRIORITIES, { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name }, ...fields })
const shown = (path: string): Step => get(path, { accept: TABLE, only: ['columnDefinitions', 'rows.0.cells'] })

const OTHER_LABELS = {
  spec: { selector: { matchLabels: { app: 'b' } }, template: { metadata: { labels: { app: 'b' } } } },
}
const image = (name: string): Fields => ({
  spec: { template: { spec: { containers: [{ name: 'main', image: name }] } } },
})

function kept(plural: string, kind: string): readonly Step[] {
  const path = `${APPS}/${plural}/app-a`
  return [
    workload(kind, 'app-a'),
    strategic(path, image('other:2'), { only: ['metadata.generation', 'metadata.annotations'] }),
    merge(path, { metadata: { labels: { x: 'y' } } }, { only: ['metadata.generation', 'metadata.annotations'] }),
    merge(`${path}/status`, { status: { observedGeneration: 2 } }, { only: ['status', 'metadata.generation'] }),
    merge(path, OTHER_LABELS),
    shown(path),
    workload(kind, 'app-b', { selector: {} }),
    workload(kind, 'app-b', { template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } } }),
    workload(kind, 'app-b', { template: { metadata: {}, spec: template.spec } }),
    remove(path),
  ]
}

const WITHOUT_PODS = 'is kept, without what would make its pods'

export const WORKLOAD_CASES: Cases = {
  [`a Deployment ${WITHOUT_PODS}`]: kept('deployments', 'Deployment'),
  [`a ReplicaSet ${WITHOUT_PODS}`]: kept('replicasets', 'ReplicaSet'),
  [`a DaemonSet ${WITHOUT_PODS}`]: kept('daemonsets', 'DaemonSet'),
  [`a StatefulSet ${WITHOUT_PODS}`]: kept('statefulsets', 'StatefulSet'),
  'strategies of updates, and claims of a StatefulSet': [
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
    merge(`${APPS}/statefulsets/app-a`, { spec: { replicas: 2, minReadySeconds: 5 } }, { only: ['spec.replicas'] }),
    merge(`${APPS}/statefulsets/app-a`, { spec: { serviceName: 'other' } }),
    merge(`${APPS}/statefulsets/app-a`, { spec: { podManagementPolicy: 'Any' } }),
  ],
  services: [
    service('svc-a', { selector: labels, ports: [{ port: 80 }] }),
    get(`${SERVICES}/svc-a`, { accept: TABLE, only: ['columnDefinitions', 'rows.0.cells'] }),
    merge(`${SERVICES}/svc-a`, { spec: { ports: [{ port: 81, targetPort: 'http' }] } }),
    strategic(`${SERVICES}/svc-a`, { spec: { ports: [{ port: 82, name: 'two' }] } }),
    merge(`${SERVICES}/svc-a`, { spec: { clusterIP: null } }, { only: ['spec.type', 'spec.clusterIP'] }),
    merge(
      `${SERVICES}/svc-a`,
      { spec: { type: 'NodePort' } },
      { only: ['spec.type', 'spec.externalTrafficPolicy', 'spec.ports.0.port'] },
    ),
    service('svc-b', { clusterIP: 'None', ports: [{ port: 80, protocol: 'UDP' }], selector: labels }),
    get(`${SERVICES}/svc-b`, { accept: TABLE, only: ['rows.0.cells'] }),
    service('svc-c', { type: 'ExternalName', externalName: 'example.com' }),
    get(`${SERVICES}/svc-c`, { accept: TABLE, only: ['rows.0.cells'] }),
    service('svc-d', { type: 'NodePort', ports: [{ port: 80 }], sessionAffinity: 'ClientIP' }),
    get(`${SERVICES}/svc-d`, { accept: TABLE, only: ['rows.0.cells'] }),
    service('svc-e', {
      type: 'LoadBalancer',
      ports: [
        { name: 'a', port: 80 },
        { name: 'b', port: 81 },
      ],
    }),
    get(`${SERVICES}/svc-e`, { accept: TABLE, only: ['rows.0.cells'] }),
    service('svc-f', {}),
    service('svc-f', { ports: [{ port: 80 }, { port: 81 }] }),
    service('svc-f', { ports: [{ port: 0 }] }),
    service('svc-f', { ports: [{ port: 80, nodePort: 30_080 }] }),
    service('svc-f', { type: 'Other', ports: [{ port: 80 }] }),
    service('svc-f', { sessionAffinity: 'Other', ports: [{ port: 80, protocol: 'HTTP' }] }),
    service('svc-f', { type: 'NodePort', clusterIP: 'None', ports: [{ port: 80 }] }),
    service('svc-f', { type: 'ExternalName' }),
    service('-f', { ports: [{ port: 80 }] }),
    put(
      `${SERVICES}/svc-f`,
      { metadata: { name: 'svc-f' }, spec: { ports: [{ port: 80 }] } },
      { only: ['kind', 'spec.type'] },
    ),
    remove(`${SERVICES}/svc-a`, { only: ['kind', 'status', 'metadata.name'] }),
  ],
  'how many pods a workload wants': [
    workload('Deployment', 'app-a', { replicas: 2 }),
    get(`${APPS}/deployments/app-a/scale`),
    merge(`${APPS}/deployments/app-a/scale?fieldManager=kubectl-scale`, { spec: { replicas: 3 } }),
    get(`${APPS}/deployments/app-a`, { only: ['metadata.generation', 'spec.replicas'], managers: true }),
    put(`${APPS}/deployments/app-a/scale`, { metadata: { name: 'app-a' }, spec: {} }),
    put(`${APPS}/deployments/app-a/scale`, {
      metadata: { name: 'app-a', resourceVersion: '1' },
      spec: { replicas: 1 },
    }),
    jsonPatch(`${APPS}/deployments/app-a/scale?fieldManager=scaler`, [
      { op: 'replace', path: '/spec', value: { replicas: 5 } },
    ]),
    get(`${APPS}/deployments/app-a`, { only: ['spec.replicas'] }),
    merge(`${APPS}/deployments/app-a/scale`, { spec: { replicas: -1 } }),
    remove(`${APPS}/deployments/app-a/scale`, { only: ['code', 'reason'] }),
    get(`${APPS}/daemonsets/app-a/scale`, { only: ['code', 'reason'] }),
    workload('StatefulSet', 'app-a', {
      selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['a', 'b'] }] },
    }),
    get(`${APPS}/statefulsets/app-a/scale`),
  ],
  'network policies': [
    policy('pol-a', {}),
    policy('pol-b', {
      podSelector: { matchLabels: labels },
      ingress: [{ ports: [{ port: 'http' }], from: [{ namespaceSelector: {} }, { ipBlock: { cidr: '10.0.0.0/8' } }] }],
      egress: [{}],
    }),
    merge(`${POLICIES}/pol-b`, { spec: { egress: null } }, { only: ['metadata.generation', 'spec.policyTypes'] }),
    get(`${POLICIES}/pol-b`, { accept: TABLE, only: ['columnDefinitions', 'rows.0.cells'] }),
    policy('pol-c', { policyTypes: ['Both'] }),
    remove(`${POLICIES}/pol-a`),
  ],
  'classes of priority': [
    priority('pri-a', { value: 10, description: 'ten' }),
    merge(`${PRIORITIES}/pri-a`, { description: 'more' }, { only: ['metadata.generation', 'description'] }),
    merge(`${PRIORITIES}/pri-a`, { value: 11 }),
    merge(`${PRIORITIES}/pri-a`, { preemptionPolicy: 'Never' }),
    shown(`${PRIORITIES}/pri-a`),
    priority('pri-b', { value: 2_000_000_000 }),
    priority('pri-b', { value: 1, preemptionPolicy: 'Maybe' }),
    get(`${PRIORITIES}/system-node-critical`, { only: ['kind', 'value', 'preemptionPolicy', 'metadata.generation'] }),
    remove(`${PRIORITIES}/pri-a`),
  ],
}
