import { expect, it } from '@jest/globals'
import { figuresOf } from './headline-table.ts'

const RESULTS = `### Idle, on an empty API

| sidecar | what | ours | Go original | ours / Go |
|---|---|---|---|---|
| attacher | RSS (MiB) | 65.3 | 52.4 | 1.25 |
| resizer | exec to first watch (ms) | 258 (251 to 722) | 61.3 (54.6 to 62.1) | 4.61 |

### With objects

| attacher | RSS (MiB) | 92.4 (87.7 to 103) | 232 (222 to 234) | 0.42 |
`

it('figures are the medians of both sides, with their unit', () => {
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

it('a figure that is not there is no empty cell', () => {
  expect(() => figuresOf(RESULTS, { scene: 'With', sidecar: 'resizer', what: 'RSS (MiB)' })).toThrow(
    'bench/RESULTS.md has no RSS (MiB) in With',
  )
})
