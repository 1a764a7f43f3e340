import { describe, expect, test } from '@jest/globals'
import { parseFrame, parseSite, siteAt } from './caller.ts'

describe('stack frames', () => {
  test.each([
    ['Error\n    at run (file:///a/b.ts:12:34)', 'file:///a/b.ts'],
    ['Error\n    at file:///a/b.ts:12:34', 'file:///a/b.ts'],
    ['Error\n    at async Promise.all (index 0)\n    at Object.<anonymous> (/a/b.ts:12:34)', '/a/b.ts'],
    ['    at main.ts:12:34', 'main.ts'],
  ])('the call site in the stack trace %j is at line 12', (stack, path) => {
    expect(parseFrame(stack)).toEqual({ path, line: 12 })
  })

  test.each(['', 'Error', 'Error\n    at native'])('the stack trace %j contains no call site', (stack) => {
    expect(parseFrame(stack)).toBeUndefined()
  })
})

test.each([
  ['file:///repo/libs/informer/src/watcher.ts', 'informer', 'watcher.ts'],
  ['/repo/apps/attacher/src/volume-attachment/reconcile.ts', 'volume-attachment', 'reconcile.ts'],
  ['C:\\repo\\libs\\csi\\src\\call.ts', 'csi', 'call.ts'],
  ['attacher/main.ts', 'attacher', 'main.ts'],
  ['main.ts', '', 'main.ts'],
])('the call site in the file path %s has the folder %s and the file %s', (path, folder, file) => {
  expect(siteAt(path, 7)).toEqual({ folder, file, line: 7 })
})

test.each([
  ['csi/connect.ts:45', 'csi', 'connect.ts', 45],
  ['attacher/main.ts:7', 'attacher', 'main.ts', 7],
])('`parseSite` reads and caches the call site %s that the build has written', (text, folder, file, line) => {
  expect(parseSite(text)).toEqual({ folder, file, line })
  expect(parseSite(text)).toBe(parseSite(text))
})
