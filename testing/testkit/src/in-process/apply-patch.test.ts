import {
  type Patch,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Status,
} from '@csi-sidecars/kube-types'
import { expect, test } from '@jest/globals'
import { pv, pvc } from '../builders.ts'
import { applyPatch } from './client.ts'

const errorOf = ({ code, reason }: Status): Error => new Error(`${code} ${reason}`)
const condition = (type: string): { readonly type: string; readonly status: string } => ({ type, status: 'True' })

test.each<[kind: Patch['kind'], body: unknown, conditions: unknown]>([
  ['strategic', { status: { conditions: [condition('B')] } }, [condition('B'), condition('A')]],
  ['strategic', { status: { conditions: [{ type: 'A', $patch: 'delete' }] } }, undefined],
  ['merge', { status: { conditions: [condition('B')] } }, [condition('B')]],
  ['json', [{ op: 'add', path: '/status/conditions/-', value: condition('B') }], [condition('A'), condition('B')]],
])('a %s patch %j changes the conditions of a claim', (kind, body, conditions) => {
  const claim = pvc('a', { status: { conditions: [condition('A')] } })
  const patched = applyPatch<PersistentVolumeClaim>(
    claim,
    { kind, body },
    { resource: PERSISTENT_VOLUME_CLAIMS, errorOf },
  )
  expect(patched.status?.conditions).toEqual(conditions)
})

test('a failed `test` operation of a JSON patch throws a 422 and does not change the object', () => {
  const volume = pv()
  const body = [{ op: 'test', path: '/metadata/finalizers', value: ['a/b'] }]
  const resource = PERSISTENT_VOLUMES
  expect(() => applyPatch<PersistentVolume>(volume, { kind: 'json', body }, { resource, errorOf })).toThrow(
    '422 Invalid',
  )
  expect(volume).toEqual(pv())
})
