import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { ROOT } from './source-texts.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

it('each picture of a document exists and has an alternative text', () => {
  const shown = ['README.md', 'docs/drivers.md'].flatMap((path) => [
    ...[...read(path).matchAll(/!\[([^\]]*)\]\(([^)]+)\)/g)].map(([, words = '', file = '']) => ({ words, file })),
    ...[...read(path).matchAll(/(?:srcset|src)="([^"]+)"/g)].map(([, file = '']) => ({ words: 'in the img', file })),
  ])
  expect(shown).not.toEqual([])
  for (const { words, file } of shown) {
    expect([file, words !== '', existsSync(join(ROOT, file))]).toEqual([file, true, true])
  }
})
