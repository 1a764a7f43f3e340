import {
  type BodyFields,
  type CaseStep,
  type Cases,
  DRIVER,
  get,
  jsonPatch,
  merge,
  post,
  putRequest,
  remove,
  strategic,
  TABLE,
} from './case.ts'

const GROUP = '/apis/snapshot.storage.k8s.io/v1'
const GROUPS = '/apis/groupsnapshot.storage.k8s.io/v1'
const CLASSES = `${GROUP}/volumesnapshotclasses`
const SNAPSHOTS = `${GROUP}/namespaces/default/volumesnapshots`
const CONTENTS = `${GROUP}/volumesnapshotcontents`
const GROUP_CLASSES = `${GROUPS}/volumegroupsnapshotclasses`
const GROUP_SNAPSHOTS = `${GROUPS}/namespaces/default/volumegroupsnapshots`
const GROUP_CONTENTS = `${GROUPS}/volumegroupsnapshotcontents`

const PROTOBUF = 'application/vnd.kubernetes.protobuf'
const NO_UID = '11111111-2222-3333-4444-555555555555'

function object(kind: string, name: string, rest: BodyFields): BodyFields {
  const group = kind.includes('Group') ? 'groupsnapshot' : 'snapshot'
  return { apiVersion: `${group}.storage.k8s.io/v1`, kind, metadata: { name }, ...rest }
}

const content = (change: BodyFields = {}): BodyFields =>
  object('VolumeSnapshotContent', 's-c', {
    spec: {
      driver: DRIVER,
      deletionPolicy: 'Delete',
      source: { volumeHandle: 'v' },
      volumeSnapshotRef: { namespace: 'default', name: 's' },
      ...change,
    },
  })
const groupContent = (change: BodyFields = {}): BodyFields =>
  object('VolumeGroupSnapshotContent', 's-gc', {
    spec: {
      driver: DRIVER,
      deletionPolicy: 'Delete',
      source: { volumeHandles: ['v', 'w'] },
      volumeGroupSnapshotRef: { namespace: 'default', name: 'g' },
      ...change,
    },
  })
const snapshot = (source: unknown, spec: BodyFields = {}): BodyFields =>
  object('VolumeSnapshot', 's', { spec: { source, ...spec } })
const groupSnapshot = (source: unknown, spec: BodyFields = {}): BodyFields =>
  object('VolumeGroupSnapshot', 'g', { spec: { source, ...spec } })

const changed = (place: string, spec: unknown): CaseStep => merge(place, { spec })
const status = (place: string, value: unknown): CaseStep => merge(`${place}/status`, { status: value })

/** Cases for snapshot objects. A real API server needs the CRDs of external-snapshotter. */
export const SNAPSHOT_CASES: Cases = {
  'the source of a VolumeSnapshotContent': [
    post(CONTENTS, content({ source: {} })),
    post(CONTENTS, content({ source: undefined })),
    post(CONTENTS, content({ source: { volumeHandle: 'v', snapshotHandle: 's' } })),
    post(CONTENTS, content({ deletionPolicy: 'Keep', driver: undefined })),
    post(CONTENTS, content({ volumeSnapshotRef: { name: 's' } })),
    post(CONTENTS, object('VolumeSnapshotContent', 's-c', {})),
    post(CONTENTS, content({ sourceVolumeMode: 'Filesystem' })),
    changed(`${CONTENTS}/s-c`, { source: { volumeHandle: 'w' } }),
    changed(`${CONTENTS}/s-c`, { source: { volumeHandle: null, snapshotHandle: 's' } }),
    changed(`${CONTENTS}/s-c`, { source: { snapshotHandle: 's' } }),
    changed(`${CONTENTS}/s-c`, { sourceVolumeMode: 'Block' }),
    changed(`${CONTENTS}/s-c`, { sourceVolumeMode: null }),
    changed(`${CONTENTS}/s-c`, { volumeSnapshotRef: { uid: NO_UID } }),
    changed(`${CONTENTS}/s-c`, { deletionPolicy: 'Retain', nothing: 1 }),
    merge(`${CONTENTS}/s-c`, { metadata: { labels: { a: 'b' } } }),
    get(`${CONTENTS}/s-c`),
  ],
  'the status of a VolumeSnapshotContent': [
    post(CONTENTS, { ...content(), status: { readyToUse: true } }),
    merge(`${CONTENTS}/s-c`, { status: { readyToUse: true } }),
    jsonPatch(`${CONTENTS}/s-c/status`, [
      {
        op: 'replace',
        path: '/status',
        value: { readyToUse: false, error: { message: 'm', time: '2026-01-01T00:00:00Z' } },
      },
    ]),
    jsonPatch(`${CONTENTS}/s-c/status`, [{ op: 'replace', path: '/status/snapshotHandle', value: 'h' }]),
    status(`${CONTENTS}/s-c`, { restoreSize: -1 }),
    status(`${CONTENTS}/s-c`, { restoreSize: 5, creationTime: 1_700_000_000_000, error: null, nothing: 1 }),
    merge(`${CONTENTS}/s-c/status`, { metadata: { uid: NO_UID, labels: { a: 'b' } }, spec: { driver: 'x' } }),
    merge(`${CONTENTS}/s-c/status`, { metadata: { resourceVersion: '1' }, status: { readyToUse: true } }),
    jsonPatch(`${CONTENTS}/s-c/status`, [
      { op: 'test', path: '/metadata/uid', value: NO_UID },
      { op: 'replace', path: '/status/readyToUse', value: true },
    ]),
    merge(`${CONTENTS}/s-c`, { metadata: { uid: NO_UID } }),
    jsonPatch(`${CONTENTS}/s-c`, [{ op: 'replace', path: '/metadata/annotations', value: { 'a.b/c': 'yes' } }]),
    jsonPatch(`${CONTENTS}/s-c`, [{ op: 'remove', path: '/metadata/annotations/a.b~1c' }]),
    jsonPatch(`${CONTENTS}/s-c/status`, [{ op: 'remove', path: '/status' }]),
    get(`${CONTENTS}/s-c/status`),
  ],
  'writes of a custom resource': [
    post(CONTENTS, content(), { answerName: 'made' }),
    strategic(`${CONTENTS}/s-c`, { metadata: { labels: { a: 'b' } } }),
    putRequest(`${CONTENTS}/s-c`, content()),
    putRequest(`${CONTENTS}/s-c`, {
      ...content({ deletionPolicy: 'Retain' }),
      metadata: { name: 's-c', resourceVersion: '@made.metadata.resourceVersion' },
    }),
    putRequest(`${CONTENTS}/none`, content()),
    merge(`${CONTENTS}/s-c`, { metadata: { finalizers: ['a.example.com/b'] } }),
    remove(`${CONTENTS}/s-c`),
    changed(`${CONTENTS}/s-c`, { deletionPolicy: 'Delete' }),
    merge(`${CONTENTS}/s-c`, { metadata: { finalizers: null } }),
    get(`${CONTENTS}/s-c`),
    post(CONTENTS, content()),
    remove(`${CONTENTS}/s-c`),
    post(CONTENTS, { ...content(), metadata: { generateName: 'generated-' } }),
    post(CLASSES, { metadata: { name: 's-k' }, driver: DRIVER, deletionPolicy: 'Delete' }),
    post(CLASSES, { apiVersion: 'snapshot.storage.k8s.io/v1', metadata: { name: 's' } }),
    post(CLASSES, { kind: 'VolumeSnapshotClass', metadata: { name: 's-k' }, driver: DRIVER, deletionPolicy: 'Delete' }),
  ],
  'forms of custom resources': [
    post(CONTENTS, content()),
    get(CONTENTS),
    get(`${CONTENTS}?fieldSelector=metadata.name%3Ds-c`, { accept: `${PROTOBUF}, application/json` }),
    get(`${CONTENTS}/s-c`, { accept: PROTOBUF, only: ['code', 'reason'] }),
    get(`${CONTENTS}/s-c`, { accept: TABLE }),
    get(`${CONTENTS}?watch=true&fieldSelector=metadata.name%3Ds-c`, { frames: 1 }),
    post(SNAPSHOTS, snapshot({ persistentVolumeClaimName: 'c' })),
    get(SNAPSHOTS, { accept: TABLE }),
    status(`${SNAPSHOTS}/s`, { restoreSize: '1Gi', creationTime: '2026-01-01T00:00:00Z', readyToUse: true }),
    get(`${SNAPSHOTS}/s`),
    post(CLASSES, object('VolumeSnapshotClass', 's-k', { driver: DRIVER, deletionPolicy: 'Delete' })),
    get(`${CLASSES}/s-k`, { accept: TABLE }),
    post(GROUP_SNAPSHOTS, groupSnapshot({ selector: { matchLabels: { a: 'b' } } })),
    get(`${GROUP_SNAPSHOTS}/g`, { accept: TABLE }),
    post(GROUP_CONTENTS, groupContent()),
    get(`${GROUP_CONTENTS}/s-gc`, { accept: TABLE }),
  ],
  'the source of a VolumeSnapshot': [
    post(SNAPSHOTS, snapshot({})),
    post(SNAPSHOTS, snapshot({ persistentVolumeClaimName: 'c' }, { volumeSnapshotClassName: '' })),
    post(SNAPSHOTS, snapshot({ persistentVolumeClaimName: 'c' })),
    changed(`${SNAPSHOTS}/s`, { source: { persistentVolumeClaimName: 'd' } }),
    changed(`${SNAPSHOTS}/s`, { source: { persistentVolumeClaimName: null, volumeSnapshotContentName: 'c' } }),
    changed(`${SNAPSHOTS}/s`, { volumeSnapshotClassName: 'k' }),
  ],
  'classes of snapshots': [
    post(CLASSES, object('VolumeSnapshotClass', 's-k', { driver: DRIVER })),
    post(
      CLASSES,
      object('VolumeSnapshotClass', 's-k', { driver: DRIVER, deletionPolicy: 'Delete', parameters: { a: 'b' } }),
    ),
    merge(`${CLASSES}/s-k`, { driver: 'other', parameters: { a: 'c' } }),
    post(
      GROUP_CLASSES,
      object('VolumeGroupSnapshotClass', 's-k', { driver: DRIVER, deletionPolicy: 'Delete', parameters: { a: 'b' } }),
    ),
    merge(`${GROUP_CLASSES}/s-k`, { driver: 'other' }),
    merge(`${GROUP_CLASSES}/s-k`, { deletionPolicy: 'Retain' }),
    merge(`${GROUP_CLASSES}/s-k`, { parameters: { a: 'c' } }),
    merge(`${GROUP_CLASSES}/s-k`, { parameters: null }),
  ],
  'the source of a VolumeGroupSnapshotContent': [
    post(GROUP_CONTENTS, groupContent({ source: {} })),
    post(GROUP_CONTENTS, groupContent({ source: { groupSnapshotHandles: { volumeGroupSnapshotHandle: 'g' } } })),
    post(GROUP_CONTENTS, groupContent({ volumeGroupSnapshotRef: { name: 'g' } })),
    post(GROUP_CONTENTS, groupContent()),
    changed(`${GROUP_CONTENTS}/s-gc`, { driver: 'other' }),
    changed(`${GROUP_CONTENTS}/s-gc`, { source: { volumeHandles: ['v'] } }),
    changed(`${GROUP_CONTENTS}/s-gc`, { volumeGroupSnapshotRef: { name: 'h' } }),
    changed(`${GROUP_CONTENTS}/s-gc`, { volumeGroupSnapshotRef: { uid: NO_UID } }),
    changed(`${GROUP_CONTENTS}/s-gc`, { volumeGroupSnapshotRef: { uid: null } }),
    status(`${GROUP_CONTENTS}/s-gc`, { volumeGroupSnapshotHandle: 'h', readyToUse: true }),
    status(`${GROUP_CONTENTS}/s-gc`, { volumeGroupSnapshotHandle: 'i' }),
    status(`${GROUP_CONTENTS}/s-gc`, { volumeGroupSnapshotHandle: null }),
  ],
  'the source of a VolumeGroupSnapshot': [
    post(GROUP_SNAPSHOTS, groupSnapshot({})),
    post(GROUP_SNAPSHOTS, groupSnapshot({ selector: { matchLabels: { a: 'b' } } })),
    changed(`${GROUP_SNAPSHOTS}/g`, { source: { selector: { matchLabels: { a: 'c' } } } }),
    status(`${GROUP_SNAPSHOTS}/g`, { boundVolumeGroupSnapshotContentName: 'c' }),
    status(`${GROUP_SNAPSHOTS}/g`, { boundVolumeGroupSnapshotContentName: 'd' }),
  ],
}
