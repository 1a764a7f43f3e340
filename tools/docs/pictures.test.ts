import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { ROOT } from './source-texts.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

it('each picture of a document exists and has an alternative text', () => {
  const pictures = ['README.md', 'docs/drivers.md'].flatMap((path) => [
    ...[...read(path).matchAll(/!\[([^\]]*)\]\(([^)]+)\)/g)].map(([, altText = '', file = '']) => ({ altText, file })),
    ...[...read(path).matchAll(/(?:srcset|src)="([^"]+)"/g)].map(([, file = '']) => ({ altText: 'in the img', file })),
  ])
  expect(pictures).not.toEqual([])
  for (const { altText, file } of pictures) {
    expect([file, altText !== '', existsSync(join(ROOT, file))]).toEqual([file, true, true])
  }
})
