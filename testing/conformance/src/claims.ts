import {
  BOUND_STATUS,
  type BodyFields,
  type CaseStep,
  type Cases,
  claim,
  get,
  IN_DEFAULT,
  merge,
  post,
  putRequest,
  STORAGE,
  storageClass,
  strategic,
} from './case.ts'

const CLAIMS = `${IN_DEFAULT}/persistentvolumeclaims`

function made(name: string, spec: BodyFields = {}): CaseStep {
  return post(CLAIMS, claim(name, spec))
}

/** Returns the steps that create a bound claim. Its default class allows expansion. */
function createBoundClaim(
  name: string,
  className: string | undefined = 'c-expands',
  status: object = {},
): readonly CaseStep[] {
  return [
    made(name, className === undefined ? { volumeName: 'pv-c' } : { storageClassName: className, volumeName: 'pv-c' }),
    merge(`${CLAIMS}/${name}/status`, { status: { ...BOUND_STATUS, ...status } }),
  ]
}

const request = (storage: string): object => ({ spec: { resources: { requests: { storage } } } })
const EXPANDS: CaseStep = post(`${STORAGE}/storageclasses`, storageClass('c-expands', { allowVolumeExpansion: true }))
const FIXED: CaseStep = post(`${STORAGE}/storageclasses`, storageClass('c-fixed'))

const asStatus = (name: string, status: object): CaseStep => merge(`${CLAIMS}/${name}/status`, { status })
const wantsClass = (name: string, className: string | null): CaseStep =>
  merge(`${CLAIMS}/${name}`, { spec: { volumeAttributesClassName: className } })

export const CLAIM_CASES: Cases = {
  'a claim is raised where its class allows it': [
    EXPANDS,
    FIXED,
    ...createBoundClaim('a'),
    merge(`${CLAIMS}/a`, request('2Gi')),
    ...createBoundClaim('b', 'c-fixed'),
    merge(`${CLAIMS}/b`, request('2Gi')),
    ...createBoundClaim('c', 'c-missing'),
    merge(`${CLAIMS}/c`, request('2Gi')),
    ...createBoundClaim('d', ''),
    merge(`${CLAIMS}/d`, request('2Gi')),
    ...createBoundClaim('e', undefined),
    merge(`${CLAIMS}/e`, request('2Gi')),
  ],
  'a claim is lowered, but not to its capacity': [
    EXPANDS,
    ...createBoundClaim('a'),
    merge(`${CLAIMS}/a`, request('5Gi')),
    merge(`${CLAIMS}/a`, request('2Gi')),
    merge(`${CLAIMS}/a`, request('1Gi')),
    merge(`${CLAIMS}/a`, request('512Mi')),
    merge(`${CLAIMS}/a`, request('0')),
  ],
  'the spec of a claim is fixed': [
    EXPANDS,
    made('a', { storageClassName: 'c-expands' }),
    merge(`${CLAIMS}/a`, request('2Gi'), { only: ['code', 'reason', 'details'] }),
    merge(`${CLAIMS}/a`, { spec: { volumeName: 'pv-c' } }),
    merge(`${CLAIMS}/a`, { spec: { volumeName: 'pv-d' } }, { only: ['code', 'reason'] }),
    merge(`${CLAIMS}/a`, { spec: { accessModes: ['ReadWriteMany'] } }, { only: ['code', 'reason'] }),
    merge(`${CLAIMS}/a`, { spec: { volumeMode: 'Block' } }, { only: ['code', 'reason'] }),
  ],
  'status and the rest of a claim': [
    made('a'),
    merge(`${CLAIMS}/a/status`, { ...request('9Gi'), status: BOUND_STATUS }),
    merge(`${CLAIMS}/a/status`, { metadata: { annotations: { a: 'b' }, labels: { c: 'd' }, finalizers: ['e.f/g'] } }),
    merge(`${CLAIMS}/a`, { status: { phase: 'Lost' }, metadata: { labels: { h: 'i' } } }),
    get(`${CLAIMS}/a/status`),
    putRequest(`${CLAIMS}/a/status`, { ...claim('a'), status: { phase: 'Lost' } }),
  ],
  'what a claim says of its expansion': [
    ...createBoundClaim('a'),
    asStatus('a', { allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' } }),
    asStatus('a', { allocatedResourceStatuses: { storage: 'Someday' } }),
    asStatus('a', { allocatedResourceStatuses: { storage: '' } }),
    asStatus('a', { allocatedResourceStatuses: { cpu: 'NodeResizePending' } }),
    asStatus('a', { allocatedResourceStatuses: { 'example.com/x': 'NodeResizePending' } }),
    asStatus('a', { allocatedResources: { storage: '3Gi' } }),
    asStatus('a', { allocatedResources: { cpu: '1' } }),
    asStatus('a', { allocatedResources: { 'example.com/x': '1' } }),
    asStatus('a', { allocatedResources: { 'a b': '1' } }),
    asStatus('a', { allocatedResources: { storage: '0' }, capacity: { storage: '0' } }),
    asStatus('a', { capacity: { storage: '-1' } }),
    asStatus('a', { conditions: [{ type: 'Resizing', status: '' }] }),
    asStatus('a', { conditions: [{ type: 'Resizing', status: 'True', lastProbeTime: null, message: 'm' }] }),
    asStatus('a', { modifyVolumeStatus: { status: 'Whatever' } }),
  ],
  'conditions of a claim merge by their type': [
    ...createBoundClaim('a'),
    strategic(`${CLAIMS}/a/status`, {
      status: { conditions: [{ type: 'A', status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z' }] },
    }),
    strategic(`${CLAIMS}/a/status`, { status: { conditions: [{ type: 'B', status: 'True' }] } }),
    strategic(`${CLAIMS}/a/status`, {
      status: {
        '$setElementOrder/conditions': [{ type: 'B' }, { type: 'C' }],
        conditions: [
          { type: 'C', status: 'False' },
          { $patch: 'delete', type: 'A' },
        ],
      },
    }),
    strategic(`${CLAIMS}/a/status`, { status: { conditions: [{ type: 'B', message: 'x' }] } }),
    strategic(`${CLAIMS}/a/status`, { status: { conditions: [{ status: 'x' }] } }),
    strategic(`${CLAIMS}/a/status`, { status: { conditions: [{ $patch: 'replace' }, { type: 'Z', status: '' }] } }),
    strategic(`${CLAIMS}/a/status`, { status: { conditions: null } }),
  ],
  'versions of a claim': [
    { ...made('a'), answerName: 'old' },
    merge(`${CLAIMS}/a`, { metadata: { labels: { a: 'b' } } }, { answerName: 'new' }),
    merge(`${CLAIMS}/a`, { metadata: { labels: { a: 'c' }, resourceVersion: '@old.metadata.resourceVersion' } }),
    merge(`${CLAIMS}/a`, { metadata: { labels: { a: 'c' }, resourceVersion: '@new.metadata.resourceVersion' } }),
    putRequest(`${CLAIMS}/a`, claim('a', {}, { resourceVersion: '@old.metadata.resourceVersion' })),
    putRequest(`${CLAIMS}/a`, claim('a')),
    putRequest(`${CLAIMS}/a`, claim('a', {}, { uid: 'another' })),
  ],
  'the class of a claim': [
    ...createBoundClaim('a'),
    wantsClass('a', ''),
    wantsClass('a', 'gold'),
    wantsClass('a', null),
    asStatus('a', { currentVolumeAttributesClassName: 'silver' }),
    wantsClass('a', 'gold'),
    wantsClass('a', ''),
    wantsClass('a', null),
    made('b', { volumeAttributesClassName: 'gold' }),
    { ...wantsClass('b', 'silver'), only: ['code', 'reason'] },
  ],
  'claims that are refused': [
    made('a', { accessModes: [] }),
    made('a', { accessModes: ['Never'] }),
    made('a', { accessModes: ['ReadWriteOncePod', 'ReadWriteOnce'] }),
    made('a', { resources: {} }),
    made('a', { resources: { requests: { storage: '0' } } }),
    made('a', { resources: { requests: { storage: '-1' } } }),
    made('a', { resources: { requests: { storage: 'many' } } }),
    made('a', { volumeMode: 'Tape' }),
    made('a', { storageClassName: 'A_B' }),
    made('a', { dataSource: { kind: 'PersistentVolumeClaim', name: '' } }),
    made('A_B'),
    made('a', { resources: { requests: { storage: '1.5' } } }),
  ],
}
