import { systemClock } from '@csi-sidecars/base'
import { silentLogger } from '@csi-sidecars/telemetry'
import { describe, expect, it } from '@jest/globals'
import { Stage } from '../story/stage.ts'
import { startTestCluster } from '../testing/cluster.ts'
import { shownAt } from '../testing/shown-page.ts'
import { startPage } from './page.ts'

describe('the page', () => {
  it('has the chapters of the story, which stay, and what has ended though it should not', async () => {
    await using test = await startTestCluster({ nodes: 1 })
    const { cluster } = test
    const story = new Stage({ cluster, clock: systemClock, chapterMs: 15_000, pauseMs: 0 })
    await using page = await startPage({ cluster, clock: systemClock, log: silentLogger, port: 0, story })
    expect((await shownAt(page.url)).get('chapter/6')).toMatchObject({
      state: 'left out',
      why: 'there is one node only',
    })
    await story.playTo(1, new AbortController().signal)
    page.trouble('csi-attacher ended by SIGKILL')
    page.trouble('toString ended')
    const items = await shownAt(page.url)
    expect(items.get('chapter/1')).toMatchObject({ state: 'true', title: 'A claim asks for 1Gi and gets a volume' })
    expect(items.get('chapter/1')).toMatchObject({
      lines: expect.arrayContaining([expect.objectContaining({ who: 'you' })]),
    })
    expect(items.get('chapter/2')).toMatchObject({ state: 'to come', lines: [] })
    expect(items.get('csi-attacher')).toMatchObject({ last: { text: 'csi-attacher ended by SIGKILL', bad: true } })
    expect(items.get('somebody')).toMatchObject({ last: { text: 'toString ended' } })
  })
})
