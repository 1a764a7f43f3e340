import { describe, expect, it } from '@jest/globals'
import { resolveTemplate, secretsFrom } from './secrets.ts'

const TOKENS = new Map([
  ['content.name', 'c'],
  ['x', 'y'],
])
const $ = (text: string): string => text.replaceAll('%', '$')

describe('resolveTemplate', () => {
  it.each([
    ['creds', 'creds'],
    [$('creds-%{content.name}'), 'creds-c'],
    [$('a-%x'), 'a-y'],
    [$('a%{}b'), 'ab'],
    [$('a%{b'), 'ab'],
  ])('`resolveTemplate` resolves %s to %s', (template, name) => {
    expect(resolveTemplate(template, TOKENS, 'secret')).toBe(name)
  })

  it.each<[template: string, kind: 'namespace' | 'secret', error: string]>([
    [$('%{b}-%a'), 'secret', $('error resolving value "%{b}-%a": invalid tokens: ["a" "b"]')],
    [$('%1'), 'secret', $('error resolving value "%1": invalid tokens: ["1"]')],
    ['A', 'secret', '"A" is not a valid secret name'],
    ['a.b', 'namespace', '"a.b" is not a valid namespace name'],
    [$('%{content.name}_'), 'secret', $('"%{content.name}_" resolved to "c_" which is not a valid secret name')],
    ['a'.repeat(64), 'namespace', `"${'a'.repeat(64)}" is not a valid namespace name`],
    [$('a%'), 'secret', $('"a%" is not a valid secret name')],
  ])('`resolveTemplate` refuses %s as a %s', (template, kind, error) => {
    expect(() => resolveTemplate(template, TOKENS, kind)).toThrow(error)
  })
})

it('`secretsFrom` decodes the values of a Secret, also for unusual keys', () => {
  const data = { user: Buffer.from('Jürgen').toString('base64'), empty: '', ['__proto__']: 'eA==' }
  expect(Object.entries(secretsFrom(data))).toEqual([
    ['user', 'Jürgen'],
    ['empty', ''],
    ['__proto__', 'x'],
  ])
  expect(secretsFrom(undefined)).toEqual({})
})

it('`secretsFrom` refuses a value that is not UTF-8 with the error of grpc-go', () => {
  expect(() => secretsFrom({ key: Buffer.from([0x63, 0xff]).toString('base64') })).toThrow(
    'rpc error: code = Internal desc = grpc: error while marshaling: string field contains invalid UTF-8',
  )
})
