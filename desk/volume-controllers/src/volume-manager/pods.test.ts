import { describe, expect, it } from '@jest/globals'
import { pod } from '../testing/objects.ts'
import { decidePod, type PodView } from './pods.ts'

describe('decidePod', () => {
  const running = pod({ phase: 'Running', containersRun: true })
  const rows: [string, PodView, string][] = [
    ['waits until all volumes are mounted', { pod: pod(), isMounted: false, isReady: false }, 'nothing'],
    ['runs the pod when all volumes are mounted', { pod: pod(), isMounted: true, isReady: true }, 'run'],
    ['does nothing for a running pod', { pod: running, isMounted: true, isReady: true }, 'nothing'],
    [
      'ends the containers of a deleted pod before the unmounts',
      { pod: { ...running, deleting: true }, isMounted: true, isReady: false },
      'end',
    ],
    [
      'keeps a deleted pod until its volumes are unmounted',
      { pod: pod({ deleting: true, phase: 'Succeeded' }), isMounted: true, isReady: false },
      'nothing',
    ],
    [
      'removes a deleted pod after the last unmount',
      { pod: pod({ deleting: true, phase: 'Succeeded' }), isMounted: false, isReady: false },
      'remove',
    ],
    ['removes a pod that never ran', { pod: pod({ deleting: true }), isMounted: false, isReady: false }, 'remove'],
    [
      'keeps a pod that has ended but is not deleted',
      { pod: pod({ phase: 'Succeeded' }), isMounted: false, isReady: false },
      'nothing',
    ],
  ]
  it.each(rows)('`decidePod` %s', (_, view, does) => {
    expect(decidePod(view).kind).toBe(does)
  })
})
