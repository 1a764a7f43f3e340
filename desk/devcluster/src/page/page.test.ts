import { systemClock } from '@csi-sidecars/base'
import { silentLogger } from '@csi-sidecars/telemetry'
import { describe, expect, it } from '@jest/globals'
import { StoryScenario } from '../story/scenario.ts'
import { startTestCluster } from '../testing/cluster.ts'
import { shownAt } from '../testing/shown-page.ts'
import { startPage } from './page.ts'

describe('the page', () => {
  it('the page shows the steps of the demo, and the components that have ended unexpectedly', async () => {
    await using test = await startTestCluster({ nodes: 1 })
    const { cluster } = test
    const story = new StoryScenario({ cluster, clock: systemClock, stepMs: 15_000, pauseMs: 0 })
    await using page = await startPage({ cluster, clock: systemClock, log: silentLogger, port: 0, story })
    expect((await shownAt(page.url)).get('step/9')).toMatchObject({
      state: 'skipped',
      why: 'there is one node only',
    })
    await story.runTo(1, new AbortController().signal)
    page.trouble('csi-attacher ended by SIGKILL')
    page.trouble('toString ended')
    const items = await shownAt(page.url)
    expect(items.get('step/1')).toMatchObject({ state: 'succeeded', title: 'A claim asks for 1Gi and gets a volume' })
    expect(items.get('step/1')).toMatchObject({
      lines: expect.arrayContaining([expect.objectContaining({ who: 'you' })]),
    })
    expect(items.get('step/2')).toMatchObject({ state: 'pending', lines: [] })
    expect(items.get('csi-attacher')).toMatchObject({ last: { text: 'csi-attacher ended by SIGKILL', bad: true } })
    expect(items.get('unknown')).toMatchObject({ last: { text: 'toString ended' } })
  })
})
