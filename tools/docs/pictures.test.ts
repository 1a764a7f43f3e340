import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { ROOT, readText } from './source-texts.ts'

it('each picture of a document exists and has an alternative text', () => {
  const pictures = ['README.md', 'docs/drivers.md'].flatMap((path) => [
    ...[...readText(path).matchAll(/!\[([^\]]*)\]\(([^)]+)\)/g)].map(([, altText = '', file = '']) => ({
      altText,
      file,
    })),
    ...[...readText(path).matchAll(/(?:srcset|src)="([^"]+)"/g)].map(([, file = '']) => ({
      altText: 'in the img',
      file,
    })),
  ])
  expect(pictures).not.toEqual([])
  for (const { altText, file } of pictures) {
    expect([file, altText !== '', existsSync(join(ROOT, file))]).toEqual([file, true, true])
  }
})
