import type { ConformanceCase, Step } from './case.ts'
import { BOUND, claim, configMap, IN_DEFAULT, pod, volume } from './objects.ts'

type Fields = Readonly<Record<string, unknown>>

const MAPS = `${IN_DEFAULT}/configmaps`
const CLAIMS = `${IN_DEFAULT}/persistentvolumeclaims`
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const SERVICES = `${IN_DEFAULT}/services`
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

const deployment = (image: string, spec: Fields = {}): Fields => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'man-a' },
  spec: {
    selector: { matchLabels: { app: 'a' } },
    template: {
      metadata: { labels: { app: 'a' } },
      spec: { containers: [{ name: 'main', image, env: [{ name: 'X', value: '<y>' }] }] },
    },
    ...spec,
  },
})
/** As `kubectl apply` writes an object: with all its fields in an annotation. */
const byKubectl = (object: Fields): Fields => {
  const metadata: unknown = object['metadata']
  return {
    ...object,
    metadata: { ...Object(metadata), annotations: { [LAST_APPLIED]: `${JSON.stringify(object)}\n` } },
  }
}
const made = (path: string, manager: string, body: unknown): Step => ({
  ask: `POST ${path}?fieldManager=${manager}`,
  body,
  managers: true,
})
/** `query` is the field manager, and further parameters after it. */
const applied = (path: string, query: string, apply: unknown): Step => ({
  ask: `PATCH ${path}?fieldManager=${query}`,
  apply,
  managers: true,
})

export const MANAGER_CASES: readonly ConformanceCase[] = [
  {
    name: 'fields have a manager from the creation on',
    steps: [
      made(
        MAPS,
        'maker',
        configMap('man-a', { data: { a: '1' }, metadata: { name: 'man-a', labels: { x: 'y' }, finalizers: ['a/b'] } }),
      ),
      { ask: `PATCH ${MAPS}/man-a?fieldManager=editor`, merge: { data: { a: '2', b: '3' } }, managers: true },
      { ask: `PUT ${MAPS}/man-a?fieldManager=putter`, body: configMap('man-a', { data: { c: '1' } }), managers: true },
      applied(`${MAPS}/man-a`, 'one', configMap('man-a', { data: { c: '2' } })),
      applied(`${MAPS}/man-a`, 'one', configMap('man-a', { data: { d: '2' } })),
      made(`${IN_DEFAULT}/pods`, 'maker', pod('man-b')),
      {
        ask: `PATCH ${IN_DEFAULT}/pods/man-b/status?fieldManager=kubelet`,
        merge: { status: { phase: 'Running' } },
        managers: true,
      },
      made(CLAIMS, 'maker', claim('man-c')),
      { ask: `PATCH ${CLAIMS}/man-c/status?fieldManager=binder`, merge: { status: BOUND }, managers: true },
      made(DEPLOYMENTS, 'maker', deployment('one', { replicas: 2 })),
      made(SERVICES, 'maker', {
        metadata: { name: 'man-d' },
        spec: { selector: { a: 'b' }, ports: [{ port: 80 }, { port: 80, protocol: 'UDP', name: 'u' }] },
      }),
      made(SERVICES, 'maker', {
        metadata: { name: 'man-d' },
        spec: {
          selector: { a: 'b' },
          ports: [
            { name: 't', port: 80 },
            { port: 80, protocol: 'UDP', name: 'u' },
          ],
        },
      }),
    ],
  },
  {
    name: 'kubectl applies by the server what it has applied by itself',
    steps: [
      made(DEPLOYMENTS, 'kubectl-client-side-apply', byKubectl(deployment('one', { replicas: 2 }))),
      applied(`${DEPLOYMENTS}/man-a`, 'kubectl', deployment('two', { replicas: 2 })),
      applied(`${DEPLOYMENTS}/man-a`, 'other', deployment('three')),
      { ask: `PATCH ${DEPLOYMENTS}/man-a?fieldManager=scaler`, merge: { spec: { replicas: 5 } }, managers: true },
      applied(`${DEPLOYMENTS}/man-a`, 'kubectl', deployment('two', { replicas: 2 })),
      applied(`${DEPLOYMENTS}/man-a`, 'kubectl', deployment('two')),
    ],
  },
  {
    name: 'managers are taken over, as Helm and Flux do before they apply',
    steps: [
      made(MAPS, 'helm', configMap('man-a', { data: { a: '1', b: '2' } })),
      { ask: `GET ${MAPS}/man-a`, keep: 'live', only: ['metadata.name'] },
      {
        ask: `PATCH ${MAPS}/man-a?fieldManager=helm`,
        json: [
          {
            op: 'replace',
            path: '/metadata/managedFields',
            value: [
              {
                manager: 'helm',
                operation: 'Apply',
                apiVersion: 'v1',
                time: '2026-01-01T00:00:00Z',
                fieldsType: 'FieldsV1',
                fieldsV1: { 'f:data': { '.': {}, 'f:a': {}, 'f:b': {} } },
              },
            ],
          },
          { op: 'replace', path: '/metadata/resourceVersion', value: '@live.metadata.resourceVersion' },
        ],
        managers: true,
      },
      applied(`${MAPS}/man-a`, 'helm', configMap('man-a', { data: { a: '3' } })),
      applied(`${MAPS}/man-a`, 'kustomize-controller&dryRun=All', configMap('man-a', { data: { a: '4' } })),
      applied(`${MAPS}/man-a`, 'kustomize-controller&dryRun=All&force=true', configMap('man-a', { data: { a: '4' } })),
      applied(`${MAPS}/man-a`, 'kustomize-controller&force=true', configMap('man-a', { data: { a: '4' } })),
      { ask: `GET ${MAPS}/man-a`, managers: true },
      applied(`${MAPS}/man-a`, 'helm', configMap('man-a', { data: { a: '5', c: '6' } })),
      { ask: `PATCH ${MAPS}/man-a`, merge: { metadata: { managedFields: [{ manager: 'x', operation: 'Other' }] } } },
    ],
  },
  {
    name: 'two whose fields meet in lists and maps',
    steps: [
      applied(`${SERVICES}/man-s`, 'one', {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'man-s' },
        spec: { selector: { app: 'a' }, ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }] },
      }),
      applied(`${SERVICES}/man-s`, 'two', {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'man-s' },
        spec: { ports: [{ name: 'dns', port: 80, protocol: 'UDP' }] },
      }),
      applied(`${SERVICES}/man-s`, 'two', {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'man-s' },
        spec: { selector: { app: 'b' }, ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 9090 }] },
      }),
      applied(
        '/api/v1/persistentvolumes/man-v',
        'one',
        volume('man-v', { claimRef: { namespace: 'default', name: 'c' } }),
      ),
      applied('/api/v1/persistentvolumes/man-v', 'two', {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: 'man-v' },
        spec: { claimRef: { uid: 'some-uid', name: 'c' } },
      }),
      applied('/api/v1/persistentvolumes/man-v', 'one', volume('man-v')),
    ],
  },
]
