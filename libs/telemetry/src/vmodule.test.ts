import { expect, test } from '@jest/globals'
import { globMatcher, vmoduleLevels } from './vmodule.ts'

test.each([
  ['watcher', 'watcher', true],
  ['watcher', 'watcher2', false],
  ['watch*', 'watcher', true],
  ['*', 'anything', true],
  ['w?tcher', 'watcher', true],
  ['w?tcher', 'wtcher', false],
  ['[a-w]*', 'watcher', true],
  ['[^a-w]*', 'watcher', false],
  ['[x-z]', 'y', true],
  ['[w-a]*', 'watcher', false],
  ['[abc', 'a', false],
  ['a\\*', 'a*', true],
  ['a\\*', 'ab', false],
  ['a.b', 'axb', false],
  ['a\\', 'a', false],
  ['(x|y)', 'x', false],
])('the vmodule pattern %s matches the file name %s: %s', (pattern, name, matches) => {
  expect(globMatcher(pattern)(name)).toBe(matches)
})

test('the first vmodule rule that matches the file name without its last extension sets the level', () => {
  const level = vmoduleLevels([
    { pattern: 'main', level: 2 },
    { pattern: 'm*', level: 7 },
  ])
  expect(['main.ts', 'mode.ts', 'other.ts', 'main.ts'].map(level)).toEqual([2, 7, 0, 2])
})
