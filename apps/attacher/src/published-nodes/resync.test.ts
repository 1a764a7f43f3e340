import { FakeClock } from '@csi-sidecars/base'
import type { ListVolumesResponse } from '@csi-sidecars/csi-proto'
import { recordingLogger } from '@csi-sidecars/telemetry'
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Attachment } from '../caches/attachment.ts'
import { DRIVER, ofPv, volume, withFinalizer } from '../testing/views.ts'
import { type ComparisonOptions, compareForever } from './resync.ts'
import { WorkLog } from './work-log.ts'

const page = (nextToken: string, ...volumes: [handle: string, ...nodes: string[]][]): ListVolumesResponse => ({
  nextToken,
  entries: volumes.map(([volumeId, ...publishedNodeIds]) => ({
    volume: { volumeId, capacityBytes: 0n, volumeContext: {}, contentSource: undefined, accessibleTopology: [] },
    status: { publishedNodeIds },
  })),
})

let clock: FakeClock
let stop: AbortController
let forced: string[]
let asked: string[]
let vas: Map<string, Attachment>
let work: WorkLog
let log: ReturnType<typeof recordingLogger>
beforeEach(() => {
  clock = new FakeClock()
  stop = new AbortController()
  forced = []
  asked = []
  vas = new Map()
  work = new WorkLog()
  log = recordingLogger()
})

function start(change: Partial<ComparisonOptions> & { pages?: () => Promise<ListVolumesResponse> }): Promise<void> {
  const { pages = async () => page(''), ...options } = change
  return compareForever(
    {
      listPage: (token) => {
        asked.push(token)
        return pages()
      },
      attachments: {
        get: (key: string) => vas.get(key),
        values: () => vas.values(),
        size: vas.size,
        byIndex: () => [],
        synced: true,
        whenSynced: async () => {},
      },
      view: async (va) => ({ va, volume: ofPv(volume()), node: { known: 'id', nodeId: 'node1-id' } }),
      reprocess: (key, mark) => forced.push(mark ? key : `${key} as usual`),
      workSince: () => work.since(),
      driverName: DRIVER,
      periodMs: 60_000,
      confirmations: 2,
      clock,
      log,
      ...options,
    },
    stop.signal,
  )
}

const has = (va: Attachment): void => void vas.set(va.key, va)

/** Many turns of promises, and none of time. */
async function until(holds: () => boolean): Promise<void> {
  for (let turns = 0; turns < 1000 && !holds(); turns += 1) await clock.settle()
}

describe('compareForever', () => {
  it('acts when two listings in a row miss an attached volume, and again with each that does', async () => {
    has(withFinalizer({ attached: true }))
    void start({})
    await clock.settle()
    expect(forced).toEqual([])
    await clock.advance(60_000)
    expect(forced).toEqual(['va1'])
    await clock.advance(60_000)
    expect(forced).toEqual(['va1', 'va1'])
  })

  it('acts at once with one confirmation', async () => {
    has(withFinalizer({ attached: true }))
    void start({ confirmations: 1 })
    await clock.settle()
    expect(forced).toEqual(['va1'])
    expect(log.lines.map(({ message }) => message)).toContain(
      'VolumeAttachment attached status and actual state do not match. Adding back to VolumeAttachment queue for forced reprocessing',
    )
  })

  it.each([
    { name: 'attached and listed', va: { attached: true }, nodes: ['node1-id'], done: [] },
    { name: 'attached, not listed', va: { attached: true }, nodes: [], done: ['va1'] },
    { name: 'attached, listed only elsewhere', va: { attached: true }, nodes: ['node2-id'], done: ['va1'] },
    { name: 'not attached and not listed', va: { attached: false }, nodes: [], done: [] },
    { name: 'without a status and not listed', va: { attached: undefined }, nodes: [], done: [] },
    { name: 'not attached, listed', va: { attached: false }, nodes: ['node1-id'], done: ['va1 as usual'] },
    { name: 'detached, listed', va: { attached: false, deleting: true }, nodes: ['node1-id'], done: ['va1'] },
  ])('$name: $done', async ({ va, nodes, done }) => {
    has(withFinalizer(va))
    void start({ confirmations: 1, pages: async () => page('', ['handle-1', ...nodes]) })
    await clock.settle()
    expect(forced).toEqual(done)
  })

  describe('says nothing of an attachment that is worked on', () => {
    /** Work that goes on until it is told to end. */
    const begin = (key: string): (() => Promise<void>) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const ended = work.run(key, () => promise)
      return () => {
        resolve()
        return ended
      }
    }

    it('since before the listing', async () => {
      has(withFinalizer({ attached: true }))
      begin('va1')
      void start({ confirmations: 1 })
      await clock.settle()
      expect(forced).toEqual([])
    })

    it('and ended while the driver was listing, whichever of the two began first', async () => {
      has(withFinalizer({ attached: true }))
      const earlier = begin('va1')
      const gate = Promise.withResolvers<ListVolumesResponse>()
      void start({ confirmations: 1, pages: () => gate.promise })
      await clock.settle()
      await earlier()
      await begin('va1')()
      gate.resolve(page(''))
      await clock.settle()
      expect(forced).toEqual([])
    })

    it('but of the others, and of this one when its work is over', async () => {
      has(withFinalizer({ attached: true }))
      has({ ...withFinalizer({ attached: true }), key: 'va2' })
      const end = begin('va1')
      void start({ confirmations: 1 })
      await clock.settle()
      expect(forced).toEqual(['va2'])
      await end()
      await clock.advance(60_000)
      expect(forced).toEqual(['va2', 'va1', 'va2'])
    })
  })

  it.each([
    [
      'without a volume',
      () => page(String(asked.length)),
      'failed to ListVolumes: the driver goes on after 1000 pages without a volume',
    ],
    [
      'with ever the same volumes',
      () => {
        const [entry] = page('', ['handle-1']).entries
        return { nextToken: String(asked.length), entries: Array(50_000).fill(entry) }
      },
      'failed to ListVolumes: the driver goes on after 1050000 volumes',
    ],
  ])('gives up a listing that goes on for ever %s, with a line', async (_, next, text) => {
    has(withFinalizer({ attached: true }))
    void start({ confirmations: 1, pages: async () => next() })
    await until(() => log.lines.length > 0)
    expect(log.lines.map(({ message, error }) => [message, (error as Error).message])).toEqual([
      ['Failed to reconcile VolumeAttachment', text],
    ])
    expect(forced).toEqual([])
  })

  it('forgets a suspicion that the next listing does not share', async () => {
    has(withFinalizer({ attached: true }))
    const listings = [page(''), page('', ['handle-1', 'node1-id']), page('')]
    void start({ pages: async () => listings.shift() ?? page('', ['handle-1', 'node1-id']) })
    await clock.advance(180_000)
    expect(forced).toEqual([])
  })

  it('does not hold against an attachment what was wrong with an earlier one of its name', async () => {
    has(withFinalizer({ attached: true, uid: 'earlier' }))
    void start({})
    await clock.settle()
    has(withFinalizer({ attached: true, uid: 'later' }))
    await clock.advance(60_000)
    expect(forced).toEqual([])
    await clock.advance(60_000)
    expect(forced).toEqual(['va1'])
  })

  it('leaves alone what changed while the driver was listing', async () => {
    has(withFinalizer({ attached: true }))
    void start({
      confirmations: 1,
      pages: async () => {
        has(withFinalizer({ attached: true, resourceVersion: '2' }))
        return page('')
      },
    })
    await clock.settle()
    expect(forced).toEqual([])
  })

  it('leaves alone what changed while its volume was read', async () => {
    has(withFinalizer({ attached: true }))
    void start({
      confirmations: 1,
      view: async (va) => {
        has(withFinalizer({ attached: true, resourceVersion: '2' }))
        return { va, volume: ofPv(volume()), node: { known: 'id', nodeId: 'node1-id' } }
      },
    })
    await clock.settle()
    expect(forced).toEqual([])
  })

  it('tells of an attachment that cannot be compared, and goes on with the others', async () => {
    has(withFinalizer({ key: 'bad', attached: true }))
    has(withFinalizer({ attached: true }))
    void start({
      confirmations: 1,
      view: async (va) => {
        if (va.key === 'bad') throw new Error('no volume')
        return { va, volume: ofPv(volume()), node: { known: 'id', nodeId: 'node1-id' } }
      },
    })
    await clock.settle()
    expect(forced).toEqual(['va1'])
    expect(log.lines).toContainEqual({
      level: 'error',
      message: 'VolumeAttachment cannot be compared with the driver',
      pairs: { VolumeAttachment: 'bad' },
      error: new Error('no volume'),
    })
  })

  it('needs as many listings in a row as it was told, of the same kind', async () => {
    has(withFinalizer({ attached: true }))
    void start({ confirmations: 3, pages: async () => page('') })
    await clock.advance(60_000)
    has(withFinalizer({ attached: true, resourceVersion: '2' }))
    await clock.advance(60_000)
    expect(forced).toEqual(['va1'])
  })

  it('counts anew when what is different has changed', async () => {
    has(withFinalizer({ attached: true }))
    const listings = [page(''), page('', ['handle-1', 'node1-id'])]
    void start({ pages: async () => listings.shift() ?? page('', ['handle-1', 'node1-id']) })
    await clock.settle()
    has(withFinalizer({ attached: false }))
    await clock.advance(60_000)
    expect(forced).toEqual([])
    await clock.advance(60_000)
    expect(forced).toEqual(['va1 as usual'])
  })

  it("ignores other attachers' attachments", async () => {
    has(withFinalizer({ attached: true, ours: false }))
    void start({ confirmations: 1 })
    await clock.settle()
    expect(forced).toEqual([])
  })

  it('follows the pages, and tells what it cannot list', async () => {
    has(withFinalizer({ attached: true }))
    const pages = [page('t1', ['other', 'n']), page('', ['handle-1', 'node1-id'])]
    void start({
      confirmations: 1,
      pages: async () => pages.shift() ?? Promise.reject(new Error('rpc error: code = Internal desc = no')),
    })
    await clock.settle()
    expect(asked).toEqual(['', 't1'])
    expect(forced).toEqual([])
    await clock.advance(60_000)
    expect(log.lines.at(-1)).toMatchObject({
      message: 'Failed to reconcile VolumeAttachment',
      error: new Error('failed to ListVolumes: failed to list volumes: rpc error: code = Internal desc = no'),
    })
  })

  it('does not go round for ever with a driver that repeats its token', async () => {
    void start({ pages: async () => page('again') })
    await clock.settle()
    expect(asked).toEqual(['', 'again'])
  })

  it('does not go round for ever with a driver whose tokens lead back', async () => {
    const pages = async (): Promise<ListVolumesResponse> => {
      if (asked.length > 5) throw new Error('asked too often')
      return page(asked.length % 2 === 0 ? 'a' : 'b')
    }
    void start({ pages })
    await clock.settle()
    expect(asked).toEqual(['', 'b', 'a'])
    expect(log.lines.at(-1)).toMatchObject({
      message: 'Failed to reconcile VolumeAttachment',
      error: new Error('failed to ListVolumes: the driver answered token "b" with itself'),
    })
  })

  it('rests as long as a slow listing took, and never lists twice at a time', async () => {
    void start({ pages: () => clock.sleep(100_000).then(() => page('')) })
    await clock.advance(100_000)
    expect(asked).toHaveLength(1)
    await clock.advance(99_999)
    expect(asked).toHaveLength(1)
    await clock.advance(1)
    expect(asked).toHaveLength(2)
  })

  it('ends when told to, in the middle of a pause', async () => {
    const ended = start({})
    await clock.settle()
    stop.abort(new Error('stop'))
    await ended
    expect(clock.pending).toBe(0)
  })
})
