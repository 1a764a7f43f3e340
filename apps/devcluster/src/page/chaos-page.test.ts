import { systemClock } from '@csi-sidecars/base'
import { silentLogger } from '@csi-sidecars/telemetry'
import { describe, expect, it } from '@jest/globals'
import { startTestCluster } from '../testing/cluster.ts'
import { shownAt } from '../testing/shown-page.ts'
import { chaosPages } from './chaos-page.ts'

describe('chaos on the page', () => {
  it('shows faults as they happen, without actions, and how it ended', async () => {
    await using test = await startTestCluster({ controllers: [], substitutes: [] })
    const urls: string[] = []
    const show = chaosPages({ clock: systemClock, log: silentLogger, port: 0, onUrl: (url) => urls.push(url) })
    {
      await using page = await show(test.cluster, 7)
      page.report({ is: 'action', action: { do: 'crashDriver', forMs: 5 } })
      page.report({ is: 'violation', text: 'a volume shrank' })
      const items = await shownAt(urls[0] ?? '')
      expect(items.get('chaos')).toMatchObject({
        seed: 7,
        actions: 1,
        state: 'breaks',
        violations: ['a volume shrank'],
      })
      expect(items.get('chaos')).toMatchObject({ last: [{ text: 'crashDriver, forMs 5' }] })
      expect(items.get('abilities')).toMatchObject({ actions: [] })
      page.report({ is: 'calm' })
      page.end(['a volume shrank'])
      expect((await shownAt(urls[0] ?? '')).get('chaos')).toMatchObject({ state: 'violated' })
    }
    // The next seed is found at the same place.
    await using next = await show(test.cluster, 8)
    next.end([])
    expect((await shownAt(urls[0] ?? '')).get('chaos')).toMatchObject({ seed: 8, state: 'held' })
    expect(urls).toHaveLength(1)
  })
})
