import {
  attachment,
  type BodyFields,
  type CaseStep,
  type Cases,
  claim,
  DRIVER,
  get,
  IN_DEFAULT,
  merge,
  pod,
  post,
  putRequest,
  remove,
  STORAGE,
  storageClass,
  strategic,
  volume,
} from './case.ts'

const CLASSES = `${STORAGE}/storageclasses`
const ATTRIBUTES = `${STORAGE}/volumeattributesclasses`
const CSI_NODES = `${STORAGE}/csinodes`
const CSI_DRIVERS = `${STORAGE}/csidrivers`

const attributes = (name: string, rest: BodyFields = {}): CaseStep =>
  post(ATTRIBUTES, { metadata: { name }, driverName: DRIVER, parameters: { iops: '100' }, ...rest })
const csiNode = (name: string, drivers: unknown): CaseStep => post(CSI_NODES, { metadata: { name }, spec: { drivers } })
const csiDriver = (name: string, spec: BodyFields = {}): CaseStep => post(CSI_DRIVERS, { metadata: { name }, spec })

export const CLASS_CASES: Cases = {
  'storage classes': [
    post(CLASSES, storageClass('c-a', { parameters: { a: 'b' } })),
    get(`${CLASSES}/c-a`),
    merge(`${CLASSES}/c-a`, { allowVolumeExpansion: true, mountOptions: ['ro'] }),
    merge(`${CLASSES}/c-a`, { parameters: { a: 'c' } }),
    merge(`${CLASSES}/c-a`, { provisioner: 'other' }),
    merge(`${CLASSES}/c-a`, { reclaimPolicy: 'Retain', volumeBindingMode: 'WaitForFirstConsumer' }),
    post(CLASSES, storageClass('c-b', { provisioner: '' })),
    post(CLASSES, storageClass('c-b', { reclaimPolicy: 'Recycle' })),
    post(CLASSES, storageClass('c-b', { volumeBindingMode: 'Never' })),
    post(CLASSES, storageClass('c-b', { parameters: { '': 'x' } })),
    remove(`${CLASSES}/c-a`),
    get(`${CLASSES}/c-a`),
    post(CLASSES, storageClass('c-d', { mountOptions: [], allowedTopologies: [], parameters: {} })),
  ],
  'volume attributes classes': [
    attributes('a-a'),
    attributes('a-b', { parameters: {} }),
    attributes('a-b', { driverName: '' }),
    merge(`${ATTRIBUTES}/a-a`, { parameters: { iops: '200' } }),
    merge(`${ATTRIBUTES}/a-a`, { driverName: 'other' }),
    merge(`${ATTRIBUTES}/a-a`, { metadata: { labels: { a: 'b' } } }),
    remove(`${ATTRIBUTES}/a-a`),
  ],
  'CSI nodes': [
    csiNode('n-a', null),
    csiNode('n-empty', []),
    get(`${CSI_NODES}/n-empty`),
    csiNode('n-keys', [{ name: DRIVER, nodeID: 'id', topologyKeys: [] }]),
    csiNode('n-b', [{ name: DRIVER, nodeID: 'id', topologyKeys: ['a/b'], allocatable: { count: 5 } }]),
    csiNode('n-c', [{ name: DRIVER, nodeID: '' }]),
    csiNode('n-c', [{ name: 'a_b', nodeID: 'id' }]),
    csiNode('n-c', [{ name: DRIVER, nodeID: 'x'.repeat(257) }]),
    csiNode('n-c', [
      { name: DRIVER, nodeID: 'id' },
      { name: DRIVER, nodeID: 'id' },
    ]),
    strategic(`${CSI_NODES}/n-b`, { spec: { drivers: [{ name: 'other', nodeID: 'id' }] } }),
    strategic(`${CSI_NODES}/n-b`, { spec: { drivers: [{ name: DRIVER, allocatable: { count: 7 } }] } }),
    strategic(`${CSI_NODES}/n-b`, { spec: { drivers: [{ name: DRIVER, nodeID: 'changed' }] } }),
    strategic(`${CSI_NODES}/n-b`, { spec: { drivers: [{ $patch: 'delete', name: DRIVER }] } }),
    putRequest(`${CSI_NODES}/n-b`, { metadata: { name: 'n-b' }, spec: { drivers: [] } }),
  ],
  'CSI drivers': [
    csiDriver('d.a'),
    csiDriver('d.b', { attachRequired: false, volumeLifecycleModes: ['Persistent', 'Ephemeral'] }),
    csiDriver('d.e', { volumeLifecycleModes: [], tokenRequests: [] }),
    csiDriver('d.c', { fsGroupPolicy: 'Some' }),
    csiDriver('d.c', { volumeLifecycleModes: ['Eternal'] }),
    csiDriver('d.c', { tokenRequests: [{ audience: 'a', expirationSeconds: 5 }] }),
    csiDriver('d.c', { nodeAllocatableUpdatePeriodSeconds: 5 }),
    merge(`${CSI_DRIVERS}/d.a`, { spec: { podInfoOnMount: true } }),
    merge(`${CSI_DRIVERS}/d.a`, { spec: { attachRequired: false } }),
    merge(`${CSI_DRIVERS}/d.a`, { spec: { volumeLifecycleModes: ['Ephemeral'] } }),
    merge(`${CSI_DRIVERS}/d.a`, { metadata: { annotations: { a: 'b' } } }),
  ],
}

const ATTACHMENTS = `${STORAGE}/volumeattachments`

const made = (name: string, spec: BodyFields = {}, rest: BodyFields = {}): CaseStep =>
  post(ATTACHMENTS, attachment(name, spec, rest))
const status = (name: string, fields: object): CaseStep => merge(`${ATTACHMENTS}/${name}/status`, { status: fields })
const inline = (spec: object): BodyFields => ({
  source: { inlineVolumeSpec: { accessModes: ['ReadWriteOnce'], csi: { driver: 'a.b', volumeHandle: 'h' }, ...spec } },
})

export const ATTACHMENT_CASES: Cases = {
  'an attachment is created without its status': [
    made('at-a', {}, { status: { attached: true, attachmentMetadata: { a: 'b' } } }),
    get(`${ATTACHMENTS}/at-a`),
  ],
  'names of attachers': [
    made('at-a', { attacher: 'A.b' }),
    made('at-b', { attacher: 'a_b' }),
    made('at-b', { attacher: 'a'.repeat(63) }),
    made('at-c', { attacher: 'a'.repeat(64) }),
    made('at-c', { attacher: '' }),
  ],
  'sources of attachments': [
    made('at-a', { source: {} }),
    made('at-a', { source: { persistentVolumeName: '' } }),
    made('at-a', { source: { persistentVolumeName: 'A_B' } }),
    made('at-a', { source: { ...(inline({})['source'] as object), persistentVolumeName: 'pv' } }),
    made('at-a', inline({ capacity: { storage: '1Gi' } })),
    made('at-a', inline({ storageClassName: 'x' })),
    made('at-a', inline({ claimRef: { name: 'x' } })),
    made('at-a', inline({ volumeMode: 'Block' })),
    made('at-a', inline({ accessModes: [] })),
    made('at-a', inline({ csi: null })),
    made('at-a', { nodeName: '' }),
    made('at-a', { nodeName: 'A_B' }),
    made('at-a', inline({})),
  ],
  'the spec of an attachment is fixed': [
    made('at-a'),
    merge(`${ATTACHMENTS}/at-a`, { spec: { nodeName: 'node-2' } }),
    merge(`${ATTACHMENTS}/at-a`, { metadata: { labels: { a: 'b' } } }),
    putRequest(`${ATTACHMENTS}/at-a`, attachment('at-a')),
  ],
  'status and the rest of an attachment': [
    made('at-a'),
    merge(`${ATTACHMENTS}/at-a`, { status: { attached: true } }),
    merge(`${ATTACHMENTS}/at-a/status`, {
      metadata: { finalizers: ['a/b'], annotations: { c: 'd' }, labels: { e: 'f' } },
    }),
    merge(`${ATTACHMENTS}/at-a/status`, { spec: { nodeName: 'node-2' }, status: { attached: true } }),
    merge(`${ATTACHMENTS}/at-a`, {
      metadata: { finalizers: ['external-attacher/x'], annotations: { 'csi.alpha.kubernetes.io/node-id': 'n' } },
    }),
    status('at-a', { attached: true, attachmentMetadata: { a: 'b' } }),
    status('at-a', { attachmentMetadata: { a: null, c: 'd' } }),
    status('at-a', { attached: false, attachmentMetadata: null }),
  ],
  'errors of an attachment': [
    made('at-a'),
    status('at-a', { attachError: { message: 'm', time: '2026-01-02T03:04:05Z', errorCode: 0 } }),
    status('at-a', { attachError: { errorCode: 2147483647 } }),
    status('at-a', { attachError: { errorCode: -1 } }),
    status('at-a', { detachError: { message: 'm', errorCode: 7 } }),
    status('at-a', { attachError: { message: 'x'.repeat(1024) } }),
    status('at-a', { attachError: { message: 'x'.repeat(1025) } }),
    status('at-a', { attachmentMetadata: { a: 'x'.repeat(262_143) } }),
    status('at-a', { attachmentMetadata: { a: 'x'.repeat(262_144) } }),
    status('at-a', { attachError: null, detachError: null, attachmentMetadata: null }),
  ],
  'an attachment goes with its finalizer': [
    post(ATTACHMENTS, { ...attachment('at-a'), metadata: { name: 'at-a', finalizers: ['a/b'] } }),
    remove(`${ATTACHMENTS}/at-a`),
    merge(`${ATTACHMENTS}/at-a`, { metadata: { finalizers: null } }),
    merge(`${ATTACHMENTS}/at-a/status`, { status: { attached: false } }),
  ],
}

const OTHER_UID = '11111111-2222-3333-4444-555555555555'

const OBJECTS: readonly { readonly name: string; readonly place: string; readonly body: object }[] = [
  { name: 'VolumeAttachment', place: `${STORAGE}/volumeattachments`, body: attachment('uid-a') },
  { name: 'PersistentVolume', place: '/api/v1/persistentvolumes', body: volume('uid-a') },
  { name: 'PersistentVolumeClaim', place: `${IN_DEFAULT}/persistentvolumeclaims`, body: claim('uid-a') },
  { name: 'Pod', place: `${IN_DEFAULT}/pods`, body: pod('uid-a') },
]

/** Returns patches of every kind that set or test the UID of the object at this path. */
function patches(path: string): readonly CaseStep[] {
  const ask = `PATCH ${path}`
  const annotations = { seen: 'yes' }
  const test = { op: 'test', path: '/metadata/uid', value: OTHER_UID }
  const add = { op: 'add', path: '/metadata/annotations', value: annotations }
  return [
    { ask, merge: { metadata: { uid: OTHER_UID, annotations } } },
    { ask, strategic: { metadata: { uid: OTHER_UID, annotations } } },
    { ask, json: [{ op: 'replace', path: '/metadata/uid', value: OTHER_UID }, add] },
    { ask, json: [{ op: 'add', path: '/metadata/uid', value: OTHER_UID }] },
    { ask, json: [test, add] },
    { ask, merge: { metadata: { uid: OTHER_UID } } },
    { ask, merge: { metadata: { uid: '' } } },
    { ask, merge: { metadata: { uid: null } } },
    { ask, merge: { metadata: { uid: 'not a uid' } } },
    { ask, strategic: { metadata: { uid: null } } },
    { ask, json: [{ op: 'remove', path: '/metadata/uid' }] },
    { ask, merge: { metadata: { uid: OTHER_UID, resourceVersion: '1' } } },
    { ask: `GET ${path}`, answerName: 'now' },
    { ask, merge: { metadata: { uid: OTHER_UID, resourceVersion: '@now.metadata.resourceVersion' } } },
    { ask, merge: { metadata: { uid: OTHER_UID, finalizers: ['not qualified'] } } },
    { ask, merge: { metadata: { uid: '@made.metadata.uid', annotations } } },
    { ask, json: [{ ...test, value: '@made.metadata.uid' }, add] },
    { ask: `${ask}?dryRun=All`, merge: { metadata: { uid: OTHER_UID } } },
  ]
}

export const IDENTITY_CASES: Cases = Object.assign(
  {},
  ...OBJECTS.map(({ name, place, body }): Cases => {
    const made = post(place, body, { answerName: 'made' })
    return {
      [`a patch for another ${name} of the same name`]: [made, ...patches(`${place}/uid-a`)],
      [`a patch of the status of another ${name} of the same name`]: [made, ...patches(`${place}/uid-a/status`)],
      [`a ${name} that is recreated while it is patched`]: [
        post(place, body, { answerName: 'first' }),
        remove(`${place}/uid-a?gracePeriodSeconds=0`, { only: ['metadata.name'] }),
        merge(`${place}/uid-a`, { metadata: { uid: '@first.metadata.uid' } }),
        post(place, body),
        merge(`${place}/uid-a`, { metadata: { uid: '@first.metadata.uid', finalizers: ['a/b'] } }),
        merge(`${place}/uid-a/status`, { metadata: { uid: '@first.metadata.uid' }, status: {} }),
      ],
    }
  }),
)
