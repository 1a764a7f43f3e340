import { describe, expect, it } from '@jest/globals'
import { pod } from '../testing/objects.ts'
import { decidePod, type PodView } from './pods.ts'

describe('decidePod', () => {
  const running = pod({ phase: 'Running', containersRun: true })
  const rows: [string, PodView, string][] = [
    ['waits for the volumes', { pod: pod(), isMounted: false, isReady: false }, 'nothing'],
    ['runs once they are all there', { pod: pod(), isMounted: true, isReady: true }, 'run'],
    ['continues to run', { pod: running, isMounted: true, isReady: true }, 'nothing'],
    [
      'ends its containers before its volumes go',
      { pod: { ...running, deleting: true }, isMounted: true, isReady: false },
      'end',
    ],
    [
      'stays until its volumes are gone',
      { pod: pod({ deleting: true, phase: 'Succeeded' }), isMounted: true, isReady: false },
      'nothing',
    ],
    [
      'goes with the last of them',
      { pod: pod({ deleting: true, phase: 'Succeeded' }), isMounted: false, isReady: false },
      'remove',
    ],
    ['goes at once when it never ran', { pod: pod({ deleting: true }), isMounted: false, isReady: false }, 'remove'],
    [
      'is not removed because its work is done',
      { pod: pod({ phase: 'Succeeded' }), isMounted: false, isReady: false },
      'nothing',
    ],
  ]
  it.each(rows)('%s', (_, view, does) => {
    expect(decidePod(view).do).toBe(does)
  })
})
