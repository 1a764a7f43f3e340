import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from '@jest/globals'
import { comparable, expectedOutcome, migrationCases, outcomeOf } from './index.ts'

const casesFile = process.env['MIGRATION_CASES']
afterEach(() => {
  if (casesFile === undefined) delete process.env['MIGRATION_CASES']
  else process.env['MIGRATION_CASES'] = casesFile
})

it('`MIGRATION_CASES` adds the cases of a file after the cases of the repository', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cases-'))
  const file = join(folder, 'more.json')
  const more = { id: 'more', plugin: 'none', direction: 'isPVMigratable', input: { pv: null }, output: false }
  writeFileSync(file, JSON.stringify([more, { ...more, direction: 'attacherFinalizerName' }]))
  delete process.env['MIGRATION_CASES']
  const sample = migrationCases((direction) => direction === 'isPVMigratable')
  process.env['MIGRATION_CASES'] = file
  expect(migrationCases((direction) => direction === 'isPVMigratable')).toEqual([...sample, more])
  rmSync(folder, { recursive: true })
})

it('an unreadable file in `MIGRATION_CASES` causes an error', () => {
  process.env['MIGRATION_CASES'] = '/nowhere/cases.json'
  expect(() => migrationCases(() => true)).toThrow('ENOENT')
})

it.each<[name: string, value: unknown, form: unknown]>([
  [
    'a false, empty or zero field of a source as absent',
    { csi: { readOnly: false, fsType: '', x: 0, y: 'z' } },
    { csi: { y: 'z' } },
  ],
  ['an empty attribute as present', { csi: { volumeAttributes: { a: '' } } }, { csi: { volumeAttributes: { a: '' } } }],
  ['an empty map of attributes as absent', { csi: { driver: 'd', volumeAttributes: {} } }, { csi: { driver: 'd' } }],
  ['a secret reference without a name as present', { aSecretRef: { name: '' } }, { aSecretRef: {} }],
  [
    'false and empty fields outside of sources as present',
    { readOnly: false, name: '' },
    { readOnly: false, name: '' },
  ],
  ['null and empty lists as absent', { a: null, b: [], c: [{ d: [''] }] }, { c: [{ d: [''] }] }],
])('`comparable` treats as equal or different: %s', (_what, value, form) => {
  expect(comparable(value)).toEqual(form)
})

it('a migration case may end with an error that has a code, but any other error is thrown', () => {
  const failure = Object.assign(new Error('no'), { code: 'NO' })
  const thrown = outcomeOf(() => {
    throw failure
  })
  const error = { code: 'NO', meaning: 'prose' }
  expect(thrown).toEqual(expectedOutcome({ id: 'x', plugin: 'none', direction: 'x', input: {}, error }))
  expect(() =>
    outcomeOf(() => {
      throw new Error('a mistake')
    }),
  ).toThrow('a mistake')
})
