import { expect, test } from '@jest/globals'
import { fieldsOf } from '../codec/protobuf/wire.ts'
import { openApiVersionTwo, openApiVersionTwoProtobuf } from './documents.ts'
import { openApiProtobuf } from './protobuf.ts'

/** The values of one field of a message. */
function valuesOf(message: Buffer, number: number): Buffer[] {
  return [...fieldsOf(message)].filter((field) => field.number === number).map((field) => field.value as Buffer)
}

const nameOf = (named: Buffer): string => String(valuesOf(named, 1)[0])

test('every definition and every path of the document is there, in its order', () => {
  const document = openApiVersionTwoProtobuf()
  const { paths, definitions } = openApiVersionTwo()
  const [places = Buffer.of()] = valuesOf(document, 8)
  const [types = Buffer.of()] = valuesOf(document, 9)
  expect(valuesOf(places, 2).map(nameOf)).toEqual(Object.keys(Object(paths)))
  expect(valuesOf(types, 1).map(nameOf)).toEqual(Object.keys(Object(definitions)))
})

test('a type keeps its fields, references and extensions', () => {
  const type = {
    type: 'object',
    required: ['spec'],
    properties: { spec: { $ref: '#/definitions/Spec' }, names: { type: 'array', items: { type: 'string' } } },
    'x-kubernetes-list-type': 'atomic',
  }
  const [definitions = Buffer.of()] = valuesOf(openApiProtobuf({ definitions: { T: type } }), 9)
  const [named = Buffer.of()] = valuesOf(definitions, 1)
  const [schema = Buffer.of()] = valuesOf(named, 2)
  expect(String(valuesOf(schema, 19))).toBe('spec')
  const [properties = Buffer.of()] = valuesOf(schema, 25)
  const [spec = Buffer.of(), names = Buffer.of()] = valuesOf(properties, 1).map((each) => valuesOf(each, 2)[0])
  expect(String(valuesOf(spec, 1))).toBe('#/definitions/Spec')
  const [items = Buffer.of()] = valuesOf(names, 23)
  expect(String(valuesOf(valuesOf(valuesOf(items, 1)[0] ?? Buffer.of(), 22)[0] ?? Buffer.of(), 1))).toBe('string')
  const [extension = Buffer.of()] = valuesOf(schema, 31)
  expect(nameOf(extension)).toBe('x-kubernetes-list-type')
  expect(String(valuesOf(valuesOf(extension, 2)[0] ?? Buffer.of(), 2))).toBe('"atomic"')
})

test('what protobuf has no field for is not left out in silence', () => {
  expect(() => openApiProtobuf({ definitions: { T: { oneOf: [] } } })).toThrow('OpenAPI in protobuf has no oneOf here')
})
