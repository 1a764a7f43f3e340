import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { figuresOf, headlines } from './headline-table.ts'
import { ROOT } from './source-texts.ts'

const RESULTS = `### Idle, on an empty API

| sidecar | what | ours | Go original | ours / Go |
|---|---|---|---|---|
| attacher | RSS (MiB) | 65.3 | 52.4 | 1.25 |
| resizer | exec to first watch (ms) | 258 (251 to 722) | 61.3 (54.6 to 62.1) | 4.61 |

### With objects

| attacher | RSS (MiB) | 92.4 (87.7 to 103) | 232 (222 to 234) | 0.42 |
`

it('a row of the headline table has the medians of this project and of the Go original, with their unit', () => {
  expect(figuresOf(RESULTS, { scene: 'Idle', sidecar: 'attacher', what: 'RSS (MiB)' })).toEqual([
    '65.3 MiB',
    '52.4 MiB',
  ])
  expect(figuresOf(RESULTS, { scene: 'Idle', sidecar: 'resizer', what: 'exec to first watch (ms)' })).toEqual([
    '258 ms',
    '61.3 ms',
  ])
  expect(figuresOf(RESULTS, { scene: 'With', sidecar: 'attacher', what: 'RSS (MiB)' })).toEqual(['92.4 MiB', '232 MiB'])
})

it('the headline table causes an error if RESULTS.md lacks one of its figures', () => {
  expect(() => figuresOf(RESULTS, { scene: 'With', sidecar: 'resizer', what: 'RSS (MiB)' })).toThrow(
    'testing/bench/RESULTS.md has no RSS (MiB) in With',
  )
})

it('each row of the headline table names the smaller figure as better, or the Go original if both are equal', () => {
  const results = readFileSync(join(ROOT, 'testing/bench/RESULTS.md'), 'utf8')
  const { forUs, forTheOriginals } = headlines(results)
  const number = (text: string): number => Number.parseFloat(text)
  expect(forUs.filter(([, ours, theirs]) => number(ours) >= number(theirs))).toEqual([])
  expect(forTheOriginals.filter(([, ours, theirs]) => number(ours) < number(theirs))).toEqual([])

  const says = '100 volumes to attach at once'
  const withFigures = (figures: string): string =>
    results.replace(/^(\| attacher \| 100: attached \(s\) \|).*$/m, `$1 ${figures} | 1 |`)
  expect(headlines(withFigures('9.9 | 10.1')).forUs.map(([row]) => row)).toContain(says)
  expect(headlines(withFigures('10.1 | 9.9')).forTheOriginals.map(([row]) => row)).toContain(says)
  expect(headlines(withFigures('10 | 10')).forTheOriginals.map(([row]) => row)).toContain(says)
})
