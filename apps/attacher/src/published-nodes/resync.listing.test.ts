import type { ListVolumesResponse } from '@csi-sidecars/csi-proto'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { ComparisonFixture, page } from '../testing/comparison-fixture.ts'
import { withFinalizer } from '../testing/views.ts'

let fixture: ComparisonFixture
beforeEach(() => {
  fixture = new ComparisonFixture()
})

/** Lets promises settle until the condition is true. The clock does not advance. */
async function until(holds: () => boolean): Promise<void> {
  for (let turns = 0; turns < 1000 && !holds(); turns += 1) await fixture.clock.settle()
}

describe('compareForever', () => {
  it.each([
    [
      'without volumes',
      () => page(String(fixture.asked.length)),
      'failed to ListVolumes: the driver still returns pages after 1000 pages without a volume',
    ],
    [
      'that repeats its volumes',
      () => {
        const [entry] = page('', ['handle-1']).entries
        return { nextToken: String(fixture.asked.length), entries: Array(50_000).fill(entry) }
      },
      'failed to ListVolumes: the driver still returns pages after 1050000 volumes',
    ],
  ])('the attacher ends an endless ListVolumes %s, and logs an error', async (_, next, text) => {
    fixture.has(withFinalizer({ attached: true }))
    void fixture.start({ confirmations: 1, pages: async () => next() })
    await until(() => fixture.log.lines.length > 0)
    expect(fixture.log.lines.map(({ message, error }) => [message, (error as Error).message])).toEqual([
      ['Failed to reconcile VolumeAttachment', text],
    ])
    expect(fixture.enqueued).toEqual([])
  })

  it('the attacher ends a ListVolumes that takes longer than five minutes, and logs an error', async () => {
    fixture.has(withFinalizer({ attached: true }))
    const pages = async (): Promise<ListVolumesResponse> => {
      await fixture.clock.sleep(1_000)
      return page(String(fixture.asked.length), [`volume-${fixture.asked.length}`, 'node1-id'])
    }
    void fixture.start({ confirmations: 1, pages })
    await fixture.clock.advance(302_000)
    expect(fixture.log.lines.map(({ message, error }) => [message, (error as Error).message])).toEqual([
      [
        'Failed to reconcile VolumeAttachment',
        'failed to ListVolumes: the listing has not ended after 5 minutes and 301 volumes',
      ],
    ])
    expect(fixture.enqueued).toEqual([])
  })

  it('the attacher reads all pages of ListVolumes, and logs a failed ListVolumes', async () => {
    fixture.has(withFinalizer({ attached: true }))
    const pages = [page('t1', ['other', 'n']), page('', ['handle-1', 'node1-id'])]
    void fixture.start({
      confirmations: 1,
      pages: async () => pages.shift() ?? Promise.reject(new Error('rpc error: code = Internal desc = no')),
    })
    await fixture.clock.settle()
    expect(fixture.asked).toEqual(['', 't1'])
    expect(fixture.enqueued).toEqual([])
    await fixture.clock.advance(60_000)
    expect(fixture.log.lines.at(-1)).toMatchObject({
      message: 'Failed to reconcile VolumeAttachment',
      error: new Error('failed to ListVolumes: failed to list volumes: rpc error: code = Internal desc = no'),
    })
  })

  it('the attacher ends ListVolumes if the driver returns the same page token twice', async () => {
    void fixture.start({ pages: async () => page('again') })
    await fixture.clock.settle()
    expect(fixture.asked).toEqual(['', 'again'])
  })

  it('the attacher ends ListVolumes if a page token leads back to an earlier page', async () => {
    const pages = async (): Promise<ListVolumesResponse> => {
      if (fixture.asked.length > 5) throw new Error('asked too often')
      return page(fixture.asked.length % 2 === 0 ? 'a' : 'b')
    }
    void fixture.start({ pages })
    await fixture.clock.settle()
    expect(fixture.asked).toEqual(['', 'b', 'a'])
    expect(fixture.log.lines.at(-1)).toMatchObject({
      message: 'Failed to reconcile VolumeAttachment',
      error: new Error('failed to ListVolumes: the driver answered token "b" with itself'),
    })
  })

  it('the attacher pauses after a slow ListVolumes for as long as the call took', async () => {
    void fixture.start({ pages: () => fixture.clock.sleep(100_000).then(() => page('')) })
    await fixture.clock.advance(100_000)
    expect(fixture.asked).toHaveLength(1)
    await fixture.clock.advance(99_999)
    expect(fixture.asked).toHaveLength(1)
    await fixture.clock.advance(1)
    expect(fixture.asked).toHaveLength(2)
  })

  it('an abort during a pause ends the comparison with ListVolumes at once', async () => {
    const ended = fixture.start({})
    await fixture.clock.settle()
    fixture.stop.abort(new Error('stop'))
    await ended
    expect(fixture.clock.pending).toBe(0)
  })
})
