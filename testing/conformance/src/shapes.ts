import {
  attachment,
  BOUND_STATUS,
  type CaseStep,
  type Cases,
  CORE,
  claim,
  configMap,
  get,
  IN_DEFAULT,
  merge,
  pod,
  post,
  RBAC,
  STORAGE,
  storageClass,
  volume,
} from './case.ts'

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
const PARTIAL = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json'
const PARTIALS = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json'
const DISCOVERY = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases'

/** Requests an object as a table, as `kubectl get` does. */
const table = (path: string): CaseStep =>
  get(path, { accept: TABLE, only: ['kind', 'apiVersion', 'columnDefinitions', 'rows'] })
/** Creates an object, and compares only the name in the answer. */
const made = (ask: string, body: unknown): CaseStep => post(ask, body, { only: ['metadata.name'] })

export const SHAPE_CASES: Cases = {
  tables: [
    made(
      `${CORE}/persistentvolumes`,
      volume('t-a', { claimRef: { namespace: 'n', name: 'm' }, volumeAttributesClassName: 'gold' }),
    ),
    table(`${CORE}/persistentvolumes/t-a`),
    made(
      `${IN_DEFAULT}/persistentvolumeclaims`,
      claim('t-a', { volumeName: 'v', accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] }),
    ),
    merge(`${IN_DEFAULT}/persistentvolumeclaims/t-a/status`, { status: BOUND_STATUS }, { only: ['metadata.name'] }),
    table(`${IN_DEFAULT}/persistentvolumeclaims/t-a`),
    made(`${STORAGE}/volumeattachments`, attachment('t-a')),
    table(`${STORAGE}/volumeattachments/t-a`),
    made(
      `${STORAGE}/storageclasses`,
      storageClass('t-a', {
        metadata: { name: 't-a', annotations: { 'storageclass.kubernetes.io/is-default-class': 'false' } },
      }),
    ),
    table(`${STORAGE}/storageclasses/t-a`),
    made(`${STORAGE}/volumeattributesclasses`, {
      metadata: { name: 't-a' },
      driverName: 'd',
      parameters: { a: 'b' },
    }),
    table(`${STORAGE}/volumeattributesclasses/t-a`),
    made(`${STORAGE}/csinodes`, { metadata: { name: 't-a' }, spec: { drivers: [{ name: 'd', nodeID: 'i' }] } }),
    table(`${STORAGE}/csinodes/t-a`),
    made(`${STORAGE}/csidrivers`, { metadata: { name: 't-a' }, spec: { tokenRequests: [{ audience: 'x' }] } }),
    table(`${STORAGE}/csidrivers/t-a`),
    made(`${CORE}/nodes`, {
      metadata: { name: 't-a', labels: { 'node-role.kubernetes.io/worker': '' } },
      spec: { unschedulable: true },
    }),
    table(`${CORE}/nodes/t-a`),
    made(`${IN_DEFAULT}/pods`, pod('t-a', { nodeName: 'n' })),
    table(`${IN_DEFAULT}/pods/t-a`),
    merge(
      `${IN_DEFAULT}/pods/t-a/status`,
      {
        status: {
          phase: 'Running',
          containerStatuses: [
            { name: 'main', ready: true, restartCount: 2, state: { running: {} }, image: 'i', imageID: 'd' },
          ],
        },
      },
      { only: ['metadata.name'] },
    ),
    table(`${IN_DEFAULT}/pods/t-a`),
    made(`${IN_DEFAULT}/secrets`, { metadata: { name: 't-a' }, stringData: { a: 'b' } }),
    table(`${IN_DEFAULT}/secrets/t-a`),
    made(`${IN_DEFAULT}/configmaps`, configMap('t-a', { data: { a: 'b' }, binaryData: { c: '' } })),
    table(`${IN_DEFAULT}/configmaps/t-a`),
    made(`${IN_DEFAULT}/serviceaccounts`, { metadata: { name: 't-a' } }),
    table(`${IN_DEFAULT}/serviceaccounts/t-a`),
    made(`${IN_DEFAULT}/events`, {
      metadata: { name: 't-a' },
      involvedObject: { kind: 'Pod', name: 'p', namespace: 'default' },
      reason: 'R',
      message: ' m ',
      source: { component: 'c', host: 'h' },
      type: 'Normal',
    }),
    table(`${IN_DEFAULT}/events/t-a`),
    made(LEASES, { metadata: { name: 't-a' }, spec: { holderIdentity: 'me' } }),
    table(`${LEASES}/t-a`),
    made(`${RBAC}/clusterroles`, { metadata: { name: 't-a' } }),
    table(`${RBAC}/clusterroles/t-a`),
    made(`${RBAC}/clusterrolebindings`, {
      metadata: { name: 't-a' },
      roleRef: { kind: 'ClusterRole', name: 'x' },
      subjects: [
        { kind: 'User', name: 'u' },
        { kind: 'Group', name: 'g' },
        { kind: 'ServiceAccount', name: 's', namespace: 'n' },
      ],
    }),
    table(`${RBAC}/clusterrolebindings/t-a`),
    table(`${CORE}/namespaces/default`),
  ],
  'other shapes of objects': [
    made(
      `${IN_DEFAULT}/configmaps`,
      configMap('s-a', { metadata: { name: 's-a', labels: { set: 's' } }, data: { a: 'b' } }),
    ),
    get(`${IN_DEFAULT}/configmaps/s-a`, { accept: PARTIAL }),
    get(`${IN_DEFAULT}/configmaps?labelSelector=set%3Ds`, { accept: PARTIALS }),
    get(`${IN_DEFAULT}/configmaps?labelSelector=set%3Ds&includeObject=None`, { accept: TABLE, only: ['rows'] }),
    get(`${IN_DEFAULT}/configmaps?labelSelector=set%3Ds&includeObject=Object`, { accept: TABLE, only: ['rows'] }),
    get(`${IN_DEFAULT}/configmaps?labelSelector=set%3Ds&watch=true&timeoutSeconds=5`, { accept: TABLE, frames: 1 }),
    get(`${IN_DEFAULT}/configmaps?labelSelector=set%3Ds&watch=true&timeoutSeconds=5`, { accept: PARTIAL, frames: 1 }),
    get(`${IN_DEFAULT}/configmaps/s-a`, { accept: 'text/html' }),
    get(`${IN_DEFAULT}/configmaps/missing`, { accept: TABLE }),
  ],
  discovery: [
    get('/apis', { only: ['kind', 'groups.name=storage.k8s.io', 'groups.name=coordination.k8s.io'] }),
    get('/apis/storage.k8s.io'),
    get('/apis/storage.k8s.io/v1', {
      only: [
        'kind',
        'groupVersion',
        'resources.name=volumeattachments.verbs',
        'resources.name=volumeattachments/status',
        'resources.name=volumeattributesclasses.shortNames',
      ],
    }),
    get('/api/v1', {
      only: [
        'resources.name=pods.categories',
        'resources.name=pods/status',
        'resources.name=namespaces.verbs',
        'resources.name=serviceaccounts/token',
        'resources.name=persistentvolumeclaims.namespaced',
      ],
    }),
    get('/apis/storage.k8s.io/v9'),
    get('/apis', {
      accept: DISCOVERY,
      only: [
        'kind',
        'apiVersion',
        'metadata',
        'items.metadata=storage.versions.0.resources.resource=volumeattachments',
      ],
    }),
    get('/api', {
      accept: DISCOVERY,
      only: ['kind', 'items.0.metadata', 'items.0.versions.0.resources.resource=namespaces.verbs'],
    }),
    get('/openapi/v3/apis/storage.k8s.io/v1', {
      only: ['openapi', 'paths./apis/storage~k8s~io/v1/volumeattachments/{name}.patch.x-kubernetes-group-version-kind'],
    }),
  ],
}
