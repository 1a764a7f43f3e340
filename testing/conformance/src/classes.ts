import type { CaseStep, Cases } from './case.ts'
import { type BodyFields, DRIVER, STORAGE, storageClass } from './objects.ts'
import { get, merge, post, put, remove, strategic } from './steps.ts'

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
    put(`${CSI_NODES}/n-b`, { metadata: { name: 'n-b' }, spec: { drivers: [] } }),
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
