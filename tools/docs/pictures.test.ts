import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { barsOf } from '../../testing/bench/upstream/bars.ts'
import { headlines } from './headline-table.ts'
import { ROOT } from './source-texts.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

describe('the figures as bars', () => {
  it('are those of testing/bench/RESULTS.md (npm exec -- node testing/bench/picture.ts)', () => {
    expect(read('docs/pictures/figures.svg')).toBe(barsOf(headlines()))
  })

  it('are as long as their numbers, on a scale of each pair', () => {
    const svg = barsOf({ forUs: [['a < b', '5.0 s', '20 s']], forTheOriginals: [['c', '3 MiB', '0 MiB']] })
    const widths = [
      ...svg.matchAll(/<rect class="(\w+)"[^>]* width="([\d.]+)" height="12" rx="2"\/><text class="small"/g),
    ]
    expect(widths.map(([, side, width]) => [side, Number(width)])).toEqual([
      ['ours', 90],
      ['theirs', 360],
      ['ours', 360],
      ['theirs', 2],
    ])
    expect(svg).toContain('>a &lt; b</text>')
    expect(svg).toContain('@media (prefers-color-scheme: dark)')
  })
})

it('pictures that documents show are there, and say in words what they show', () => {
  const shown = ['README.md', 'docs/drivers.md'].flatMap((path) => [
    ...[...read(path).matchAll(/!\[([^\]]*)\]\(([^)]+)\)/g)].map(([, words = '', file = '']) => ({ words, file })),
    ...[...read(path).matchAll(/(?:srcset|src)="([^"]+)"/g)].map(([, file = '']) => ({ words: 'in the img', file })),
  ])
  expect(shown).not.toEqual([])
  for (const { words, file } of shown) {
    expect([file, words !== '', existsSync(join(ROOT, file))]).toEqual([file, true, true])
  }
})
