import type { Cases } from './case.ts'
import { BOUND, claim, configMap, deploymentOf, type Fields, IN_DEFAULT, volume } from './objects.ts'
import { applied, merge, post, put } from './steps.ts'

const MAPS = `${IN_DEFAULT}/configmaps`
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const CLAIMS = `${IN_DEFAULT}/persistentvolumeclaims`

const container = (name: string, rest: Fields = {}): Fields => ({ name, image: 'none', ...rest })
const deployment = (containers: readonly Fields[], spec: Fields = {}): Fields =>
  deploymentOf('apply-a', containers, spec)

export const APPLY_CASES: Cases = {
  'apply makes an object, and changes what its manager said before': [
    applied(`${MAPS}/apply-a`, 'one', configMap('apply-a', { data: { a: '1', b: '2' } })),
    applied(`${MAPS}/apply-a`, 'one', configMap('apply-a', { data: { a: '1', b: '2' } })),
    applied(`${MAPS}/apply-a`, 'one', configMap('apply-a', { data: { a: '3' } })),
    applied(`${MAPS}/apply-a`, 'two', configMap('apply-a', { data: { c: '4' } })),
    applied(`${MAPS}/apply-a`, 'two', configMap('apply-a', { data: { a: '5' } })),
    applied(`${MAPS}/apply-a`, 'two&force=true', configMap('apply-a', { data: { a: '5' } })),
    applied(`${MAPS}/apply-a`, 'two&dryRun=All', configMap('apply-a', { data: { a: '5' } })),
    applied(`${MAPS}/apply-a`, 'one', configMap('apply-a')),
    applied(`${MAPS}/apply-a`, 'two', configMap('apply-a')),
  ],
  'writes that are no apply take fields over': [
    applied(`${MAPS}/apply-a`, 'one', configMap('apply-a', { data: { a: '1', b: '2' } })),
    merge(`${MAPS}/apply-a?fieldManager=editor`, { data: { a: '9' } }, { managers: true }),
    merge(`${MAPS}/apply-a?fieldManager=editor`, { data: { a: '9' } }, { managers: true }),
    applied(`${MAPS}/apply-a`, 'one', configMap('apply-a', { data: { a: '1', b: '2' } })),
    merge(
      `${MAPS}/apply-a?fieldManager=editor`,
      { metadata: { labels: { x: 'y' }, finalizers: ['a/b'] }, data: { b: null, c: '3' } },
      { managers: true },
    ),
    applied(`${MAPS}/apply-a`, 'one', configMap('apply-a', { data: { a: '1', c: '4' } })),
    applied(`${MAPS}/apply-a`, 'one&force=true', configMap('apply-a', { data: { a: '1', c: '4' } })),
    put(`${MAPS}/apply-a?fieldManager=putter`, configMap('apply-a', { data: { z: '1' } }), { managers: true }),
    merge(`${MAPS}/apply-a`, { metadata: { managedFields: [{}] } }, { managers: true }),
  ],
  'lists are owned item by item': [
    applied(`${DEPLOYMENTS}/apply-a`, 'one', deployment([container('a'), container('b')], { replicas: 2 })),
    applied(
      `${DEPLOYMENTS}/apply-a`,
      'two',
      deployment([container('c', { ports: [{ containerPort: 80 }], env: [{ name: 'X', value: 'y' }] })]),
    ),
    applied(`${DEPLOYMENTS}/apply-a`, 'one', deployment([container('b'), container('a', { image: 'other' })])),
    applied(`${DEPLOYMENTS}/apply-a`, 'two', deployment([container('a', { image: 'mine' })], { replicas: 5 })),
    applied(`${DEPLOYMENTS}/apply-a`, 'one', deployment([container('b')])),
    merge(
      `${DEPLOYMENTS}/apply-a?fieldManager=scaler`,
      { spec: { replicas: 7, strategy: { type: 'Recreate', rollingUpdate: null } } },
      { managers: true },
    ),
    applied(
      `${DEPLOYMENTS}/apply-a`,
      'three&force=true',
      deployment([container('b', { resources: { limits: { cpu: '1' } }, args: ['x'] })], { replicas: 8 }),
    ),
  ],
  'apply to an object that was never applied': [
    post(CLAIMS, claim('apply-a')),
    merge(`${CLAIMS}/apply-a`, { metadata: { managedFields: [{}] } }),
    applied(`${CLAIMS}/apply-a`, 'one', { ...claim('apply-a'), metadata: { name: 'apply-a', labels: { a: 'b' } } }),
    merge(`${CLAIMS}/apply-a/status?fieldManager=binder`, { status: BOUND }, { managers: true }),
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
  'apply patches that are refused': [
    { ask: `PATCH ${MAPS}/apply-a`, apply: configMap('apply-a') },
    { ask: `PATCH ${MAPS}/apply-a?fieldManager=x`, apply: configMap('other') },
    { ask: `PATCH ${MAPS}/apply-a?fieldManager=x`, apply: { ...configMap('apply-a'), kind: 'Secret' } },
    {
      ask: `PATCH ${MAPS}/apply-a?fieldManager=x`,
      apply: configMap('apply-a', { metadata: { name: 'apply-a', managedFields: [] } }),
    },
    { ask: `PATCH ${MAPS}/apply-a?fieldManager=x`, apply: configMap('apply-a', { metadata: {} }) },
    {
      ask: `PATCH ${MAPS}/apply-a?fieldManager=x`,
      apply: configMap('apply-a', { metadata: { name: 'apply-a', uid: 'x' } }),
    },
    { ask: `PATCH ${MAPS}/apply-a?fieldManager=x`, apply: configMap('apply-a', { nothing: 1 }) },
    merge(`${MAPS}/apply-a?force=true`, {}),
    { ask: `PATCH ${CLAIMS}/none/status?fieldManager=x`, apply: { ...claim('none'), status: BOUND } },
  ],
}
