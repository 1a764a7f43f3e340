import { describe, expect, it } from '@jest/globals'
import {
  expandParameters,
  isTemplate,
  labelAndAnnotationVariables,
  UnknownVariableError,
} from './parameter-template.ts'

const VALUES: Readonly<Record<string, string | undefined>> = {
  'pvc.name': 'data',
  "pvc.labels['team']": 'storage',
  "pvc.labels['empty']": '',
  "pvc.labels['missing']": undefined,
  "pvc.annotations['example.com/{key']": 'braces',
}
const read = (values: Readonly<Record<string, string | undefined>>) => (name: string) => {
  if (!(name in values)) throw new UnknownVariableError(name)
  return values[name]
}
/** Returns the text with `$` in place of `%`. */
const t = (text: string): string => text.replaceAll('%', '$')
const expanded = (text: string, values = VALUES): string | undefined =>
  expandParameters({ key: t(text) }, { read: read(values) }).parameters['key']

describe('expandParameters', () => {
  it.each([
    ['constant', 'constant'],
    ['a %x %(y) % {z}', t('a %x %(y) % {z}')],
    ['%{pvc.name}', 'data'],
    ["team=%{pvc.labels['team']}, name=%{pvc.name}", 'team=storage, name=data'],
    ["%{pvc.labels['missing']:-none}", 'none'],
    ["%{pvc.labels['empty']:-none}", 'none'],
    ["%{pvc.labels['missing']:-}", ''],
    ["%{pvc.labels['missing']:-a:-b}", 'a:-b'],
    ["%{pvc.labels['team']:-none}", 'storage'],
    ["%{pvc.labels['team']|max(3)}", 'sto'],
    ["%{pvc.labels['missing']|max(3):-default}", 'default'],
    ["%{pvc.annotations['example.com/{key']}", 'braces'],
    ['%%{pvc.name}', t('%{pvc.name}')],
  ])('replaces the variables of %s', (text, value) => {
    expect(expanded(text)).toBe(value)
  })

  it.each([
    ['%{pvc.size}', t('parameter "key" has the template "%{pvc.size}": there is no variable pvc.size')],
    ['%{}', t('parameter "key" has the template "%{}": it is no variable')],
    ['%{pvc.name|min(3)}', t('parameter "key" has the template "%{pvc.name|min(3)}": it is no variable')],
    [
      "%{pvc.labels['missing']}",
      t(
        'parameter "key" has the template "%{pvc.labels[\'missing\']}": there is no such value, and the template has no default',
      ),
    ],
    ["%{pvc.labels['missing']:?set the label team}", 'set the label team'],
  ])('fails for %s', (text, message) => {
    expect(() => expanded(text)).toThrow(expect.objectContaining({ message }))
  })

  const hostile =
    (value: string, template = '%{pvc.name}') =>
    () =>
      expanded(template, { 'pvc.name': value })

  it.each([
    ['a variable', t('%{pvc.name}')],
    ['a separator of options', 'a,ro=false'],
    ['an assignment', 'a=b'],
    ['a line break', 'a\nb'],
    ['a path', '../other'],
    ['another folder', '..'],
    ['a control character', 'a\u0000b'],
    ['half a character', 'a\ud800'],
    ['a change of direction', 'a\u202eb'],
    ['257 characters', 'x'.repeat(257)],
    ['256 KiB', 'x'.repeat(262_144)],
  ])('refuses a value with %s', (_, value) => {
    expect(hostile(value)).toThrow(/^parameter "key" has the template "\$\{pvc\.name\}": the value /)
    expect(hostile(value)).toThrow(expect.objectContaining({ message: expect.not.stringContaining('xxx') }))
  })

  it.each(['größe', '日本語', 'команда', 'a b', 'owner@example.com', 'x'.repeat(256), 'a.b..c'])(
    'accepts the value %s',
    (value) => {
      expect(hostile(value)()).toBe(value)
    },
  )

  it('cuts 256 KiB, and never through a character', () => {
    expect(hostile('x'.repeat(262_144), '%{pvc.name|max(63)}')()).toBe('x'.repeat(63))
    expect(hostile('𐐷𐐷𐐷', '%{pvc.name|max(2)}')()).toBe('𐐷𐐷')
  })

  it('uses the values of an earlier expansion, also a missing one, and checks them again', () => {
    const parameters = { a: t("%{pvc.labels['team']|max(3)}"), b: t("%{pvc.labels['empty']:-none}") }
    const first = expandParameters(parameters, { read: read(VALUES) })
    expect(first.values).toEqual({ "pvc.labels['team']|max(3)": 'sto', "pvc.labels['empty']:-none": null })
    const changed = read({ ...VALUES, "pvc.labels['team']": 'other', "pvc.labels['empty']": 'full' })
    expect(expandParameters(parameters, { read: changed, earlier: first.values })).toEqual(first)
    const forged = { "pvc.labels['team']|max(3)": 'a,b' }
    expect(() => expandParameters(parameters, { read: changed, earlier: forged })).toThrow(/the value has a character/)
  })

  it('cuts to nothing with |max(0)', () => {
    expect(hostile('abc', '%{pvc.name|max(0)}')()).toBe('')
  })
})

it.each([
  ['plain', false],
  ['$x', false],
  [t('a%{b'), true],
  [t('%%{b'), true],
])('`isTemplate` answers for %s: %s', (text, expected) => {
  expect(isTemplate(text)).toBe(expected)
})

it('`labelAndAnnotationVariables` returns labels and annotations, but no names and no escaped text', () => {
  const parameters = {
    a: t("%{pvc.name}-%{pvc.labels['a']|max(3)}"),
    b: t("%%{pvc.labels['b']}%{pvc.annotations['c']}"),
  }
  expect(labelAndAnnotationVariables(parameters)).toEqual(["pvc.labels['a']|max(3)", "pvc.annotations['c']"])
})
