import type { ConformanceCase, Step } from './case.ts'
import { DRIVER, STORAGE, storageClass } from './objects.ts'

type Fields = Readonly<Record<string, unknown>>

const CLASSES = `${STORAGE}/storageclasses`
const ATTRIBUTES = `${STORAGE}/volumeattributesclasses`
const CSI_NODES = `${STORAGE}/csinodes`
const CSI_DRIVERS = `${STORAGE}/csidrivers`

const attributes = (name: string, rest: Fields = {}): Step => ({
  ask: `POST ${ATTRIBUTES}`,
  body: { metadata: { name }, driverName: DRIVER, parameters: { iops: '100' }, ...rest },
})
const csiNode = (name: string, drivers: unknown): Step => ({
  ask: `POST ${CSI_NODES}`,
  body: { metadata: { name }, spec: { drivers } },
})
const csiDriver = (name: string, spec: Fields = {}): Step => ({
  ask: `POST ${CSI_DRIVERS}`,
  body: { metadata: { name }, spec },
})

export const CLASS_CASES: readonly ConformanceCase[] = [
  {
    name: 'storage classes',
    steps: [
      { ask: `POST ${CLASSES}`, body: storageClass('c-a', { parameters: { a: 'b' } }) },
      { ask: `GET ${CLASSES}/c-a` },
      { ask: `PATCH ${CLASSES}/c-a`, merge: { allowVolumeExpansion: true, mountOptions: ['ro'] } },
      { ask: `PATCH ${CLASSES}/c-a`, merge: { parameters: { a: 'c' } } },
      { ask: `PATCH ${CLASSES}/c-a`, merge: { provisioner: 'other' } },
      { ask: `PATCH ${CLASSES}/c-a`, merge: { reclaimPolicy: 'Retain', volumeBindingMode: 'WaitForFirstConsumer' } },
      { ask: `POST ${CLASSES}`, body: storageClass('c-b', { provisioner: '' }) },
      { ask: `POST ${CLASSES}`, body: storageClass('c-b', { reclaimPolicy: 'Recycle' }) },
      { ask: `POST ${CLASSES}`, body: storageClass('c-b', { volumeBindingMode: 'Never' }) },
      { ask: `POST ${CLASSES}`, body: storageClass('c-b', { parameters: { '': 'x' } }) },
      { ask: `DELETE ${CLASSES}/c-a` },
      { ask: `GET ${CLASSES}/c-a` },
      {
        ask: `POST ${CLASSES}`,
        body: storageClass('c-d', { mountOptions: [], allowedTopologies: [], parameters: {} }),
      },
    ],
  },
  {
    name: 'volume attributes classes',
    steps: [
      attributes('a-a'),
      attributes('a-b', { parameters: {} }),
      attributes('a-b', { driverName: '' }),
      { ask: `PATCH ${ATTRIBUTES}/a-a`, merge: { parameters: { iops: '200' } } },
      { ask: `PATCH ${ATTRIBUTES}/a-a`, merge: { driverName: 'other' } },
      { ask: `PATCH ${ATTRIBUTES}/a-a`, merge: { metadata: { labels: { a: 'b' } } } },
      { ask: `DELETE ${ATTRIBUTES}/a-a` },
    ],
  },
  {
    name: 'CSI nodes',
    steps: [
      csiNode('n-a', null),
      csiNode('n-empty', []),
      { ask: `GET ${CSI_NODES}/n-empty` },
      csiNode('n-keys', [{ name: DRIVER, nodeID: 'id', topologyKeys: [] }]),
      csiNode('n-b', [{ name: DRIVER, nodeID: 'id', topologyKeys: ['a/b'], allocatable: { count: 5 } }]),
      csiNode('n-c', [{ name: DRIVER, nodeID: '' }]),
      csiNode('n-c', [{ name: 'a_b', nodeID: 'id' }]),
      csiNode('n-c', [{ name: DRIVER, nodeID: 'x'.repeat(257) }]),
      csiNode('n-c', [
        { name: DRIVER, nodeID: 'id' },
        { name: DRIVER, nodeID: 'id' },
      ]),
      { ask: `PATCH ${CSI_NODES}/n-b`, strategic: { spec: { drivers: [{ name: 'other', nodeID: 'id' }] } } },
      {
        ask: `PATCH ${CSI_NODES}/n-b`,
        strategic: { spec: { drivers: [{ name: DRIVER, allocatable: { count: 7 } }] } },
      },
      { ask: `PATCH ${CSI_NODES}/n-b`, strategic: { spec: { drivers: [{ name: DRIVER, nodeID: 'changed' }] } } },
      { ask: `PATCH ${CSI_NODES}/n-b`, strategic: { spec: { drivers: [{ $patch: 'delete', name: DRIVER }] } } },
      { ask: `PUT ${CSI_NODES}/n-b`, body: { metadata: { name: 'n-b' }, spec: { drivers: [] } } },
    ],
  },
  {
    name: 'CSI drivers',
    steps: [
      csiDriver('d.a'),
      csiDriver('d.b', { attachRequired: false, volumeLifecycleModes: ['Persistent', 'Ephemeral'] }),
      csiDriver('d.e', { volumeLifecycleModes: [], tokenRequests: [] }),
      csiDriver('d.c', { fsGroupPolicy: 'Some' }),
      csiDriver('d.c', { volumeLifecycleModes: ['Eternal'] }),
      csiDriver('d.c', { tokenRequests: [{ audience: 'a', expirationSeconds: 5 }] }),
      csiDriver('d.c', { nodeAllocatableUpdatePeriodSeconds: 5 }),
      { ask: `PATCH ${CSI_DRIVERS}/d.a`, merge: { spec: { podInfoOnMount: true } } },
      { ask: `PATCH ${CSI_DRIVERS}/d.a`, merge: { spec: { attachRequired: false } } },
      { ask: `PATCH ${CSI_DRIVERS}/d.a`, merge: { spec: { volumeLifecycleModes: ['Ephemeral'] } } },
      { ask: `PATCH ${CSI_DRIVERS}/d.a`, merge: { metadata: { annotations: { a: 'b' } } } },
    ],
  },
]
