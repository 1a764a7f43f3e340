import type { ConformanceCase, Step } from './case.ts'
import { BOUND, claim, IN_DEFAULT, STORAGE, storageClass } from './objects.ts'

const CLAIMS = `${IN_DEFAULT}/persistentvolumeclaims`

function made(name: string, spec: Readonly<Record<string, unknown>> = {}): Step {
  return { ask: `POST ${CLAIMS}`, body: claim(name, spec) }
}

/** A claim that is bound, with a class that allows expansion unless another is named. */
function bound(name: string, className: string | undefined = 'c-expands', status: object = {}): readonly Step[] {
  return [
    made(name, className === undefined ? { volumeName: 'pv-c' } : { storageClassName: className, volumeName: 'pv-c' }),
    { ask: `PATCH ${CLAIMS}/${name}/status`, merge: { status: { ...BOUND, ...status } } },
  ]
}

const request = (storage: string): object => ({ spec: { resources: { requests: { storage } } } })
const EXPANDS: Step = {
  ask: `POST ${STORAGE}/storageclasses`,
  body: storageClass('c-expands', { allowVolumeExpansion: true }),
}
const FIXED: Step = { ask: `POST ${STORAGE}/storageclasses`, body: storageClass('c-fixed') }

const asStatus = (name: string, status: object): Step => ({ ask: `PATCH ${CLAIMS}/${name}/status`, merge: { status } })
const wantsClass = (name: string, className: string | null): Step => ({
  ask: `PATCH ${CLAIMS}/${name}`,
  merge: { spec: { volumeAttributesClassName: className } },
})

export const CLAIM_CASES: readonly ConformanceCase[] = [
  {
    name: 'a claim is raised where its class allows it',
    steps: [
      EXPANDS,
      FIXED,
      ...bound('a'),
      { ask: `PATCH ${CLAIMS}/a`, merge: request('2Gi') },
      ...bound('b', 'c-fixed'),
      { ask: `PATCH ${CLAIMS}/b`, merge: request('2Gi') },
      ...bound('c', 'c-missing'),
      { ask: `PATCH ${CLAIMS}/c`, merge: request('2Gi') },
      ...bound('d', ''),
      { ask: `PATCH ${CLAIMS}/d`, merge: request('2Gi') },
      ...bound('e', undefined),
      { ask: `PATCH ${CLAIMS}/e`, merge: request('2Gi') },
    ],
  },
  {
    name: 'a claim is lowered, but not to its capacity',
    steps: [
      EXPANDS,
      ...bound('a'),
      { ask: `PATCH ${CLAIMS}/a`, merge: request('5Gi') },
      { ask: `PATCH ${CLAIMS}/a`, merge: request('2Gi') },
      { ask: `PATCH ${CLAIMS}/a`, merge: request('1Gi') },
      { ask: `PATCH ${CLAIMS}/a`, merge: request('512Mi') },
      { ask: `PATCH ${CLAIMS}/a`, merge: request('0') },
    ],
  },
  {
    name: 'the spec of a claim is fixed',
    steps: [
      EXPANDS,
      made('a', { storageClassName: 'c-expands' }),
      { ask: `PATCH ${CLAIMS}/a`, merge: request('2Gi'), only: ['code', 'reason', 'details'] },
      { ask: `PATCH ${CLAIMS}/a`, merge: { spec: { volumeName: 'pv-c' } } },
      { ask: `PATCH ${CLAIMS}/a`, merge: { spec: { volumeName: 'pv-d' } }, only: ['code', 'reason'] },
      { ask: `PATCH ${CLAIMS}/a`, merge: { spec: { accessModes: ['ReadWriteMany'] } }, only: ['code', 'reason'] },
      { ask: `PATCH ${CLAIMS}/a`, merge: { spec: { volumeMode: 'Block' } }, only: ['code', 'reason'] },
    ],
  },
  {
    name: 'status and the rest of a claim',
    steps: [
      made('a'),
      { ask: `PATCH ${CLAIMS}/a/status`, merge: { ...request('9Gi'), status: BOUND } },
      {
        ask: `PATCH ${CLAIMS}/a/status`,
        merge: { metadata: { annotations: { a: 'b' }, labels: { c: 'd' }, finalizers: ['e.f/g'] } },
      },
      { ask: `PATCH ${CLAIMS}/a`, merge: { status: { phase: 'Lost' }, metadata: { labels: { h: 'i' } } } },
      { ask: `GET ${CLAIMS}/a/status` },
      { ask: `PUT ${CLAIMS}/a/status`, body: { ...claim('a'), status: { phase: 'Lost' } } },
    ],
  },
  {
    name: 'what a claim says of its expansion',
    steps: [
      ...bound('a'),
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
  },
  {
    name: 'conditions of a claim merge by their type',
    steps: [
      ...bound('a'),
      {
        ask: `PATCH ${CLAIMS}/a/status`,
        strategic: {
          status: { conditions: [{ type: 'A', status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z' }] },
        },
      },
      { ask: `PATCH ${CLAIMS}/a/status`, strategic: { status: { conditions: [{ type: 'B', status: 'True' }] } } },
      {
        ask: `PATCH ${CLAIMS}/a/status`,
        strategic: {
          status: {
            '$setElementOrder/conditions': [{ type: 'B' }, { type: 'C' }],
            conditions: [
              { type: 'C', status: 'False' },
              { $patch: 'delete', type: 'A' },
            ],
          },
        },
      },
      { ask: `PATCH ${CLAIMS}/a/status`, strategic: { status: { conditions: [{ type: 'B', message: 'x' }] } } },
      { ask: `PATCH ${CLAIMS}/a/status`, strategic: { status: { conditions: [{ status: 'x' }] } } },
      {
        ask: `PATCH ${CLAIMS}/a/status`,
        strategic: { status: { conditions: [{ $patch: 'replace' }, { type: 'Z', status: '' }] } },
      },
      { ask: `PATCH ${CLAIMS}/a/status`, strategic: { status: { conditions: null } } },
    ],
  },
  {
    name: 'versions of a claim',
    steps: [
      { ...made('a'), keep: 'old' },
      { ask: `PATCH ${CLAIMS}/a`, merge: { metadata: { labels: { a: 'b' } } }, keep: 'new' },
      {
        ask: `PATCH ${CLAIMS}/a`,
        merge: { metadata: { labels: { a: 'c' }, resourceVersion: '@old.metadata.resourceVersion' } },
      },
      {
        ask: `PATCH ${CLAIMS}/a`,
        merge: { metadata: { labels: { a: 'c' }, resourceVersion: '@new.metadata.resourceVersion' } },
      },
      { ask: `PUT ${CLAIMS}/a`, body: claim('a', {}, { resourceVersion: '@old.metadata.resourceVersion' }) },
      { ask: `PUT ${CLAIMS}/a`, body: claim('a') },
      { ask: `PUT ${CLAIMS}/a`, body: claim('a', {}, { uid: 'another' }) },
    ],
  },
  {
    name: 'the class of a claim',
    steps: [
      ...bound('a'),
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
  },
  {
    name: 'claims that are refused',
    steps: [
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
  },
]
