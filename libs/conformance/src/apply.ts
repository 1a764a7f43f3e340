import type { ConformanceCase, Step } from './case.ts'
import { BOUND, claim, configMap, IN_DEFAULT, volume } from './objects.ts'

type Fields = Readonly<Record<string, unknown>>

const MAPS = `${IN_DEFAULT}/configmaps`
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const CLAIMS = `${IN_DEFAULT}/persistentvolumeclaims`

/** `query` is the field manager, and further parameters after it. */
const applied = (path: string, query: string, body: Fields): Step => ({
  ask: `PATCH ${path}?fieldManager=${query}`,
  apply: body,
  managers: true,
})
const map = (name: string, rest: Fields = {}): Fields => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  ...rest,
})
const container = (name: string, rest: Fields = {}): Fields => ({ name, image: 'none', ...rest })
const deployment = (containers: readonly Fields[], spec: Fields = {}): Fields => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'apply-a' },
  spec: {
    selector: { matchLabels: { app: 'a' } },
    template: { metadata: { labels: { app: 'a' } }, spec: { containers } },
    ...spec,
  },
})

export const APPLY_CASES: readonly ConformanceCase[] = [
  {
    name: 'apply makes an object, and changes what its manager said before',
    steps: [
      applied(`${MAPS}/apply-a`, 'one', map('apply-a', { data: { a: '1', b: '2' } })),
      applied(`${MAPS}/apply-a`, 'one', map('apply-a', { data: { a: '1', b: '2' } })),
      applied(`${MAPS}/apply-a`, 'one', map('apply-a', { data: { a: '3' } })),
      applied(`${MAPS}/apply-a`, 'two', map('apply-a', { data: { c: '4' } })),
      applied(`${MAPS}/apply-a`, 'two', map('apply-a', { data: { a: '5' } })),
      applied(`${MAPS}/apply-a`, 'two&force=true', map('apply-a', { data: { a: '5' } })),
      applied(`${MAPS}/apply-a`, 'two&dryRun=All', map('apply-a', { data: { a: '5' } })),
      applied(`${MAPS}/apply-a`, 'one', map('apply-a')),
      applied(`${MAPS}/apply-a`, 'two', map('apply-a')),
    ],
  },
  {
    name: 'writes that are no apply take fields over',
    steps: [
      applied(`${MAPS}/apply-a`, 'one', map('apply-a', { data: { a: '1', b: '2' } })),
      { ask: `PATCH ${MAPS}/apply-a?fieldManager=editor`, merge: { data: { a: '9' } }, managers: true },
      { ask: `PATCH ${MAPS}/apply-a?fieldManager=editor`, merge: { data: { a: '9' } }, managers: true },
      applied(`${MAPS}/apply-a`, 'one', map('apply-a', { data: { a: '1', b: '2' } })),
      {
        ask: `PATCH ${MAPS}/apply-a?fieldManager=editor`,
        merge: { metadata: { labels: { x: 'y' }, finalizers: ['a/b'] }, data: { b: null, c: '3' } },
        managers: true,
      },
      applied(`${MAPS}/apply-a`, 'one', map('apply-a', { data: { a: '1', c: '4' } })),
      applied(`${MAPS}/apply-a`, 'one&force=true', map('apply-a', { data: { a: '1', c: '4' } })),
      {
        ask: `PUT ${MAPS}/apply-a?fieldManager=putter`,
        body: configMap('apply-a', { data: { z: '1' } }),
        managers: true,
      },
      { ask: `PATCH ${MAPS}/apply-a`, merge: { metadata: { managedFields: [{}] } }, managers: true },
    ],
  },
  {
    name: 'lists are owned item by item',
    steps: [
      applied(`${DEPLOYMENTS}/apply-a`, 'one', deployment([container('a'), container('b')], { replicas: 2 })),
      applied(
        `${DEPLOYMENTS}/apply-a`,
        'two',
        deployment([container('c', { ports: [{ containerPort: 80 }], env: [{ name: 'X', value: 'y' }] })]),
      ),
      applied(`${DEPLOYMENTS}/apply-a`, 'one', deployment([container('b'), container('a', { image: 'other' })])),
      applied(`${DEPLOYMENTS}/apply-a`, 'two', deployment([container('a', { image: 'mine' })], { replicas: 5 })),
      applied(`${DEPLOYMENTS}/apply-a`, 'one', deployment([container('b')])),
      {
        ask: `PATCH ${DEPLOYMENTS}/apply-a?fieldManager=scaler`,
        merge: { spec: { replicas: 7, strategy: { type: 'Recreate', rollingUpdate: null } } },
        managers: true,
      },
      applied(
        `${DEPLOYMENTS}/apply-a`,
        'three&force=true',
        deployment([container('b', { resources: { limits: { cpu: '1' } }, args: ['x'] })], { replicas: 8 }),
      ),
    ],
  },
  {
    name: 'apply to an object that was never applied',
    steps: [
      { ask: `POST ${CLAIMS}`, body: claim('apply-a') },
      { ask: `PATCH ${CLAIMS}/apply-a`, merge: { metadata: { managedFields: [{}] } } },
      applied(`${CLAIMS}/apply-a`, 'one', { ...claim('apply-a'), metadata: { name: 'apply-a', labels: { a: 'b' } } }),
      { ask: `PATCH ${CLAIMS}/apply-a/status?fieldManager=binder`, merge: { status: BOUND }, managers: true },
      applied(`${CLAIMS}/apply-a/status`, 'resizer', {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'apply-a' },
        status: { conditions: [{ type: 'Resizing', status: 'True' }] },
      }),
      applied(`${CLAIMS}/apply-a/status`, 'resizer', {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'apply-a' },
        status: { conditions: [{ type: 'FileSystemResizePending', status: 'True' }] },
      }),
      applied('/api/v1/persistentvolumes/apply-v', 'one', volume('apply-v', {}, { finalizers: ['a/b'] })),
      applied('/api/v1/persistentvolumes/apply-v', 'two', volume('apply-v', {}, { finalizers: ['c/d'] })),
      applied('/api/v1/persistentvolumes/apply-v', 'one', volume('apply-v')),
    ],
  },
  {
    name: 'apply patches that are refused',
    steps: [
      { ask: `PATCH ${MAPS}/apply-a`, apply: map('apply-a') },
      { ask: `PATCH ${MAPS}/apply-a?fieldManager=x`, apply: map('other') },
      { ask: `PATCH ${MAPS}/apply-a?fieldManager=x`, apply: { ...map('apply-a'), kind: 'Secret' } },
      {
        ask: `PATCH ${MAPS}/apply-a?fieldManager=x`,
        apply: map('apply-a', { metadata: { name: 'apply-a', managedFields: [] } }),
      },
      { ask: `PATCH ${MAPS}/apply-a?fieldManager=x`, apply: map('apply-a', { metadata: {} }) },
      {
        ask: `PATCH ${MAPS}/apply-a?fieldManager=x`,
        apply: map('apply-a', { metadata: { name: 'apply-a', uid: 'x' } }),
      },
      { ask: `PATCH ${MAPS}/apply-a?fieldManager=x`, apply: map('apply-a', { nothing: 1 }) },
      { ask: `PATCH ${MAPS}/apply-a?force=true`, merge: {} },
      { ask: `PATCH ${CLAIMS}/none/status?fieldManager=x`, apply: { ...claim('none'), status: BOUND } },
    ],
  },
]
