import { inPhase } from '@csi-sidecars/base'
import { recordingRun } from '@csi-sidecars/controller/testing'
import type { ListVolumesResponse } from '@csi-sidecars/csi-proto'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { ComparisonFixture, page } from '../testing/comparison-fixture.ts'
import { ofPv, volume, withFinalizer } from '../testing/views.ts'

let fixture: ComparisonFixture
beforeEach(() => {
  fixture = new ComparisonFixture()
})

describe('compareForever', () => {
  it('an attachment is enqueued after each listing without its volume, from the second in a row', async () => {
    fixture.has(withFinalizer({ attached: true }))
    void fixture.start({})
    await fixture.clock.settle()
    expect(fixture.enqueued).toEqual([])
    await fixture.clock.advance(60_000)
    expect(fixture.enqueued).toEqual(['va1'])
    await fixture.clock.advance(60_000)
    expect(fixture.enqueued).toEqual(['va1', 'va1'])
  })

  it('an attachment is enqueued after one listing without its volume if `confirmations` is 1', async () => {
    fixture.has(withFinalizer({ attached: true }))
    void fixture.start({ confirmations: 1 })
    await fixture.clock.settle()
    expect(fixture.enqueued).toEqual(['va1'])
    expect(fixture.log.lines.map(({ message }) => message)).toContain(
      'VolumeAttachment attached status and actual state do not match. Adding back to VolumeAttachment queue for forced reprocessing',
    )
  })

  it.each([
    { name: 'attached and listed', va: { attached: true }, nodes: ['node1-id'], done: [] },
    { name: 'attached, not listed', va: { attached: true }, nodes: [], done: ['va1'] },
    { name: 'attached, listed on another node', va: { attached: true }, nodes: ['node2-id'], done: ['va1'] },
    { name: 'not attached and not listed', va: { attached: false }, nodes: [], done: [] },
    { name: 'without a status and not listed', va: { attached: undefined }, nodes: [], done: [] },
    { name: 'not attached, listed', va: { attached: false }, nodes: ['node1-id'], done: ['va1 as usual'] },
    { name: 'detached, listed', va: { attached: false, deleting: true }, nodes: ['node1-id'], done: ['va1'] },
  ])('the comparison with ListVolumes enqueues $done for an attachment ($name)', async ({ va, nodes, done }) => {
    fixture.has(withFinalizer(va))
    void fixture.start({ confirmations: 1, pages: async () => page('', ['handle-1', ...nodes]) })
    await fixture.clock.settle()
    expect(fixture.enqueued).toEqual(done)
  })

  describe('running calls', () => {
    /** Starts a CSI call for the attachment. The returned function ends it. */
    const begin = (key: string): (() => Promise<void>) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const run = recordingRun()
      const ended = fixture.work.run(key, run, () => inPhase('calling', run.signal, () => promise))
      return () => {
        resolve()
        return ended
      }
    }

    it('the comparison with ListVolumes ignores an attachment whose CSI call began before the listing', async () => {
      fixture.has(withFinalizer({ attached: true }))
      begin('va1')
      void fixture.start({ confirmations: 1 })
      await fixture.clock.settle()
      expect(fixture.enqueued).toEqual([])
    })

    it('the comparison with ListVolumes ignores an attachment whose CSI call ended during the listing', async () => {
      fixture.has(withFinalizer({ attached: true }))
      const earlier = begin('va1')
      const gate = Promise.withResolvers<ListVolumesResponse>()
      void fixture.start({ confirmations: 1, pages: () => gate.promise })
      await fixture.clock.settle()
      await earlier()
      await begin('va1')()
      gate.resolve(page(''))
      await fixture.clock.settle()
      expect(fixture.enqueued).toEqual([])
    })

    it('a listing is compared only with attachments that have no running CSI call', async () => {
      fixture.has(withFinalizer({ attached: true }))
      fixture.has({ ...withFinalizer({ attached: true }), key: 'va2' })
      const end = begin('va1')
      void fixture.start({ confirmations: 1 })
      await fixture.clock.settle()
      expect(fixture.enqueued).toEqual(['va2'])
      await end()
      await fixture.clock.advance(60_000)
      expect(fixture.enqueued).toEqual(['va2', 'va1', 'va2'])
    })
  })

  it('a difference that the next listing does not confirm enqueues no attachment', async () => {
    fixture.has(withFinalizer({ attached: true }))
    const listings = [page(''), page('', ['handle-1', 'node1-id']), page('')]
    void fixture.start({ pages: async () => listings.shift() ?? page('', ['handle-1', 'node1-id']) })
    await fixture.clock.advance(180_000)
    expect(fixture.enqueued).toEqual([])
  })

  it('differences between ListVolumes and a deleted attachment do not count for a recreated attachment', async () => {
    fixture.has(withFinalizer({ attached: true, uid: 'earlier' }))
    void fixture.start({})
    await fixture.clock.settle()
    fixture.has(withFinalizer({ attached: true, uid: 'later' }))
    await fixture.clock.advance(60_000)
    expect(fixture.enqueued).toEqual([])
    await fixture.clock.advance(60_000)
    expect(fixture.enqueued).toEqual(['va1'])
  })

  it('the comparison with ListVolumes ignores an attachment that changed during the listing', async () => {
    fixture.has(withFinalizer({ attached: true }))
    void fixture.start({
      confirmations: 1,
      pages: async () => {
        fixture.has(withFinalizer({ attached: true, resourceVersion: '2' }))
        return page('')
      },
    })
    await fixture.clock.settle()
    expect(fixture.enqueued).toEqual([])
  })

  it('the comparison with ListVolumes ignores an attachment that changed while its volume was read', async () => {
    fixture.has(withFinalizer({ attached: true }))
    void fixture.start({
      confirmations: 1,
      view: async (va) => {
        fixture.has(withFinalizer({ attached: true, resourceVersion: '2' }))
        return { va, volume: ofPv(volume()), node: { kind: 'id', nodeId: 'node1-id' } }
      },
    })
    await fixture.clock.settle()
    expect(fixture.enqueued).toEqual([])
  })

  it('the comparison with ListVolumes logs an attachment that cannot be compared, and continues with the others', async () => {
    fixture.has(withFinalizer({ key: 'bad', attached: true }))
    fixture.has(withFinalizer({ attached: true }))
    void fixture.start({
      confirmations: 1,
      view: async (va) => {
        if (va.key === 'bad') throw new Error('no volume')
        return { va, volume: ofPv(volume()), node: { kind: 'id', nodeId: 'node1-id' } }
      },
    })
    await fixture.clock.settle()
    expect(fixture.enqueued).toEqual(['va1'])
    expect(fixture.log.lines).toContainEqual({
      level: 'error',
      message: 'VolumeAttachment cannot be compared with the driver',
      pairs: { VolumeAttachment: 'bad' },
      error: new Error('no volume'),
    })
  })

  it('an attachment is enqueued after the configured number of consecutive listings with the same difference', async () => {
    fixture.has(withFinalizer({ attached: true }))
    void fixture.start({ confirmations: 3, pages: async () => page('') })
    await fixture.clock.advance(60_000)
    fixture.has(withFinalizer({ attached: true, resourceVersion: '2' }))
    await fixture.clock.advance(60_000)
    expect(fixture.enqueued).toEqual(['va1'])
  })

  it('two listings that contradict an attachment in different ways do not enqueue the attachment', async () => {
    fixture.has(withFinalizer({ attached: true }))
    const listings = [page(''), page('', ['handle-1', 'node1-id'])]
    void fixture.start({ pages: async () => listings.shift() ?? page('', ['handle-1', 'node1-id']) })
    await fixture.clock.settle()
    fixture.has(withFinalizer({ attached: false }))
    await fixture.clock.advance(60_000)
    expect(fixture.enqueued).toEqual([])
    await fixture.clock.advance(60_000)
    expect(fixture.enqueued).toEqual(['va1 as usual'])
  })

  it('the comparison with ListVolumes ignores attachments of other attachers', async () => {
    fixture.has(withFinalizer({ attached: true, ours: false }))
    void fixture.start({ confirmations: 1 })
    await fixture.clock.settle()
    expect(fixture.enqueued).toEqual([])
  })
})
