import { expect, it } from '@jest/globals'
import { checkOf } from '../tools/kubernetes-schema.ts'

const check = checkOf({
  definitions: {
    Pod: {
      type: 'object',
      properties: {
        apiVersion: { type: 'string' },
        kind: { type: 'string' },
        metadata: { $ref: '#/definitions/Meta' },
        ports: { type: 'array', items: { type: 'string', format: 'int-or-string' } },
        limits: { type: 'object', additionalProperties: { $ref: '#/definitions/x.resource.Quantity' } },
        any: { type: 'object' },
      },
      'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'Pod' }],
    },
    Meta: { type: 'object', properties: { name: { type: 'string' } } },
    'x.resource.Quantity': { type: 'string' },
    Options: {
      type: 'object',
      'x-kubernetes-group-version-kind': ['a', 'b'].map((group) => ({ group, version: 'v1', kind: 'Options' })),
    },
  },
})
const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } }

it('the schema check accepts ports and quantities as numbers or texts, and free-form maps', () => {
  expect(check({ ...pod, ports: [1, 'http'], limits: { cpu: 1, memory: '1Gi' }, any: { a: 1 } } as typeof pod)).toEqual(
    [],
  )
})

it.each([
  [{ ...pod, hostIPCs: true }, 'hostIPCs'],
  [{ ...pod, metadata: { name: 'x', labls: {} } }, 'labls'],
  [{ ...pod, ports: [true] }, '/ports/0'],
  [{ ...pod, limits: { cpu: {} } }, '/limits/cpu'],
  [{ ...pod, apiVersion: 'v2' }, 'there is no v2 Pod'],
  [{ ...pod, apiVersion: 'a/v1', kind: 'Options' }, 'there is no a/v1 Options'],
])('the schema check of objects refuses %j', (object, message) => {
  expect(check(object).join()).toContain(message)
})
