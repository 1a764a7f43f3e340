import { describe, expect, test } from '@jest/globals'
import { findInTable, parseCallerTable, parseFrame, siteAt } from './caller.ts'

describe('a stack frame', () => {
  test.each([
    ['Error\n    at run (file:///a/b.ts:12:34)', 'file:///a/b.ts'],
    ['Error\n    at file:///a/b.ts:12:34', 'file:///a/b.ts'],
    ['Error\n    at async Promise.all (index 0)\n    at Object.<anonymous> (/a/b.ts:12:34)', '/a/b.ts'],
    ['    at csi-attacher.mjs:12:34', 'csi-attacher.mjs'],
  ])('%j is at line 12, column 34', (stack, path) => {
    expect(parseFrame(stack)).toEqual({ path, line: 12, column: 34 })
  })

  test.each(['', 'Error', 'Error\n    at native'])('%j has no place', (stack) => {
    expect(parseFrame(stack)).toBeUndefined()
  })
})

test.each([
  ['file:///repo/libs/informer/src/watcher.ts', 'informer', 'watcher.ts'],
  ['/repo/apps/attacher/src/volume-attachment/reconcile.ts', 'volume-attachment', 'reconcile.ts'],
  ['C:\\repo\\libs\\csi\\src\\call.ts', 'csi', 'call.ts'],
  ['attacher/main.ts', 'attacher', 'main.ts'],
  ['main.ts', '', 'main.ts'],
])('%s is in folder %s, file %s', (path, folder, file) => {
  expect(siteAt(path, 7)).toEqual({ folder, file, line: 7 })
})

describe('the table of a bundle', () => {
  const table = parseCallerTable('attacher/main.ts 100:5 200.8:6;csi/call.ts 200.40:9 300:10')

  test.each([
    [100, 1, 'main.ts:5'],
    [200, 9, 'main.ts:6'],
    [200, 41, 'call.ts:9'],
    [300, 99, 'call.ts:10'],
  ])('leads from line %i, column %i to %s', (line, column, expected) => {
    const site = findInTable(table, line, column)
    expect(`${site?.file}:${site?.line}`).toBe(expected)
  })

  test('has no answer for a line without a log call', () => {
    expect(findInTable(table, 101, 1)).toBeUndefined()
  })
})
