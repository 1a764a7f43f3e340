import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { clearWritten, writeAtomically } from './atomic-writer.ts'
import type { Payload } from './content.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5)

let root: string
let target: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'atomic-'))
  target = join(root, 'volume')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const payload = (files: Readonly<Record<string, string>>, mode = 0o644): Payload =>
  new Map(Object.entries(files).map(([path, text]) => [path, { data: Buffer.from(text), mode }]))

const names = (): string[] => readdirSync(target).map((name) => name.replace(/\.\w{6}$/, '.random'))
const text = (path: string): string => readFileSync(join(target, path), 'utf8')

describe('files that are written together', () => {
  it('links lead to the folder that contains all files', () => {
    writeAtomically(target, payload({ a: 'one', 'deep/b': 'two' }, 0o640), NOW)
    expect(names().sort()).toEqual(['..2026_01_02_03_04_05.random', '..data', 'a', 'deep'])
    expect([readlinkSync(join(target, 'a')), readlinkSync(join(target, 'deep'))]).toEqual(['..data/a', '..data/deep'])
    expect([text('a'), text('deep/b')]).toEqual(['one', 'two'])
    expect((statSync(join(target, 'a')).mode & 0o777).toString(8)).toBe('640')
  })

  it('a second write replaces all files by one rename and removes the old files', () => {
    writeAtomically(target, payload({ a: 'one', gone: 'x' }), NOW)
    const before = readlinkSync(join(target, '..data'))
    writeAtomically(target, payload({ a: 'new', come: 'y' }), NOW + 1000)
    expect(readlinkSync(join(target, '..data'))).not.toBe(before)
    expect(names().sort()).toEqual(['..2026_01_02_03_04_06.random', '..data', 'a', 'come'])
    expect([text('a'), text('come')]).toEqual(['new', 'y'])
  })

  it.each([
    ['nothing has changed', payload({ a: 'one' }), true],
    ['a text has changed', payload({ a: 'two' }), false],
    ['a mode has changed', payload({ a: 'one' }, 0o600), false],
    ['a file has come', payload({ a: 'one', b: '' }), false],
  ])('a second write switches the folder only after a change: %s', (_, next, stays) => {
    writeAtomically(target, payload({ a: 'one' }), NOW)
    const before = readlinkSync(join(target, '..data'))
    writeAtomically(target, next, NOW)
    expect(readlinkSync(join(target, '..data')) === before).toBe(stays)
  })

  it('a second write restores deleted links', () => {
    writeAtomically(target, payload({ a: 'one' }), NOW)
    rmSync(join(target, 'a'))
    writeAtomically(target, payload({ a: 'one' }), NOW)
    expect(text('a')).toBe('one')
  })

  it('clearing removes the written files with their folder, and nothing else', () => {
    writeAtomically(target, payload({ a: 'one' }), NOW)
    mkdirSync(join(target, 'own'))
    writeFileSync(join(target, 'own', 'data'), 'mine')
    clearWritten(target)
    expect(names()).toEqual(['own'])
    expect(text('own/data')).toBe('mine')
  })

  it('clearing removes the target if it is empty', () => {
    writeAtomically(target, payload({ a: 'one' }), NOW)
    clearWritten(target)
    clearWritten(target)
    expect(readdirSync(root)).toEqual([])
  })
})
