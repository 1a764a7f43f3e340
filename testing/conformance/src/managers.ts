import type { Cases, Step } from './case.ts'
import { BOUND, claim, configMap, deploymentOf, type Fields, IN_DEFAULT, pod, volume } from './objects.ts'
import { applied, get, jsonPatch, merge, post, put } from './steps.ts'

const MAPS = `${IN_DEFAULT}/configmaps`
const CLAIMS = `${IN_DEFAULT}/persistentvolumeclaims`
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const SERVICES = `${IN_DEFAULT}/services`
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

const deployment = (image: string, spec: Fields = {}): Fields =>
  deploymentOf('man-a', [{ name: 'main', image, env: [{ name: 'X', value: '<y>' }] }], spec)
/** As `kubectl apply` writes an object: with all its fields in an annotation. */
const byKubectl = (object: Fields): Fields => {
  const metadata: unknown = object['metadata']
  return {
    ...object,
    metadata: { ...Object(metadata), annotations: { [LAST_APPLIED]: `${JSON.stringify(object)}\n` } },
  }
}
const made = (path: string, manager: string, body: unknown): Step =>
  post(`${path}?fieldManager=${manager}`, body, { managers: true })

export const MANAGER_CASES: Cases = {
  'fields have a manager from the creation on': [
    made(
      MAPS,
      'maker',
      configMap('man-a', { data: { a: '1' }, metadata: { name: 'man-a', labels: { x: 'y' }, finalizers: ['a/b'] } }),
    ),
    merge(`${MAPS}/man-a?fieldManager=editor`, { data: { a: '2', b: '3' } }, { managers: true }),
    put(`${MAPS}/man-a?fieldManager=putter`, configMap('man-a', { data: { c: '1' } }), { managers: true }),
    applied(`${MAPS}/man-a`, 'one', configMap('man-a', { data: { c: '2' } })),
    applied(`${MAPS}/man-a`, 'one', configMap('man-a', { data: { d: '2' } })),
    made(`${IN_DEFAULT}/pods`, 'maker', pod('man-b')),
    merge(`${IN_DEFAULT}/pods/man-b/status?fieldManager=kubelet`, { status: { phase: 'Running' } }, { managers: true }),
    made(CLAIMS, 'maker', claim('man-c')),
    merge(`${CLAIMS}/man-c/status?fieldManager=binder`, { status: BOUND }, { managers: true }),
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
  'kubectl applies by the server what it has applied by itself': [
    made(DEPLOYMENTS, 'kubectl-client-side-apply', byKubectl(deployment('one', { replicas: 2 }))),
    applied(`${DEPLOYMENTS}/man-a`, 'kubectl', deployment('two', { replicas: 2 })),
    applied(`${DEPLOYMENTS}/man-a`, 'other', deployment('three')),
    merge(`${DEPLOYMENTS}/man-a?fieldManager=scaler`, { spec: { replicas: 5 } }, { managers: true }),
    applied(`${DEPLOYMENTS}/man-a`, 'kubectl', deployment('two', { replicas: 2 })),
    applied(`${DEPLOYMENTS}/man-a`, 'kubectl', deployment('two')),
  ],
  'managers are taken over, as Helm and Flux do before they apply': [
    made(MAPS, 'helm', configMap('man-a', { data: { a: '1', b: '2' } })),
    get(`${MAPS}/man-a`, { keep: 'live', only: ['metadata.name'] }),
    jsonPatch(
      `${MAPS}/man-a?fieldManager=helm`,
      [
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
      { managers: true },
    ),
    applied(`${MAPS}/man-a`, 'helm', configMap('man-a', { data: { a: '3' } })),
    applied(`${MAPS}/man-a`, 'kustomize-controller&dryRun=All', configMap('man-a', { data: { a: '4' } })),
    applied(`${MAPS}/man-a`, 'kustomize-controller&dryRun=All&force=true', configMap('man-a', { data: { a: '4' } })),
    applied(`${MAPS}/man-a`, 'kustomize-controller&force=true', configMap('man-a', { data: { a: '4' } })),
    get(`${MAPS}/man-a`, { managers: true }),
    applied(`${MAPS}/man-a`, 'helm', configMap('man-a', { data: { a: '5', c: '6' } })),
    merge(`${MAPS}/man-a`, { metadata: { managedFields: [{ manager: 'x', operation: 'Other' }] } }),
  ],
  'two whose fields meet in lists and maps': [
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
}
