import { Metrics } from '@csi-sidecars/telemetry'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { debugUnreferenced } from '../http/debug-unreferenced.ts'
import { type ListingSummary, type UnreferencedItem, UnreferencedReport } from './report.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5)
const LISTING: ListingSummary = {
  listedAt: NOW,
  listedCount: 7,
  isLimitedToCluster: false,
  undecidedCount: 1,
  undecidedReason: 'a call may be running',
  omittedCount: 0,
  failure: undefined,
}
const item = (change: Partial<UnreferencedItem>): UnreferencedItem => ({
  reason: 'NoObject',
  handle: 'vol-1',
  object: undefined,
  sizeBytes: 1024,
  since: NOW,
  ...change,
})

let metrics: Metrics
let report: UnreferencedReport
beforeEach(() => {
  metrics = new Metrics()
  report = new UnreferencedReport({ driver: 'csi.example.com', metrics })
})
const join = (kind: 'volume' | 'snapshot', items: readonly UnreferencedItem[], listing = LISTING): (() => void) =>
  report.join({ sidecar: 'external-provisioner', kind, read: async () => ({ items, listing }) })

async function series(): Promise<readonly string[]> {
  return (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}
const labels = (reason: string, scope = 'backend'): string =>
  `driver_name="csi.example.com",reason="${reason}",scope="${scope}"`

describe('metrics of unreferenced things', () => {
  it('count the volumes and their sizes by reason, and the PersistentVolumes without a volume', async () => {
    const pv = { kind: 'PersistentVolume', name: 'pv-1' }
    join('volume', [
      item({}),
      item({ handle: 'vol-2', sizeBytes: undefined }),
      item({ reason: 'Released', object: pv }),
      item({ reason: 'NotListed', object: pv }),
    ])
    expect(await series()).toEqual([
      'csi_sidecar_missing_volumes{driver_name="csi.example.com"} 1',
      `csi_sidecar_unreferenced_volumes{${labels('NoObject')}} 2`,
      `csi_sidecar_unreferenced_volumes{${labels('Released')}} 1`,
      `csi_sidecar_unreferenced_volumes_bytes{${labels('NoObject')}} 1024`,
      `csi_sidecar_unreferenced_volumes_bytes{${labels('Released')}} 1024`,
    ])
  })

  it('say that a flag selects the snapshots of this cluster', async () => {
    join('snapshot', [item({})], { ...LISTING, isLimitedToCluster: true })
    expect(await series()).toEqual([
      'csi_sidecar_missing_snapshots{driver_name="csi.example.com"} 0',
      `csi_sidecar_unreferenced_snapshots{${labels('NoObject', 'cluster')}} 1`,
      `csi_sidecar_unreferenced_snapshots_bytes{${labels('NoObject', 'cluster')}} 1024`,
    ])
  })

  it('have only Released volumes before the first listing, and no series after the term has ended', async () => {
    const leave = join('volume', [item({ reason: 'Released' })], { ...LISTING, listedAt: undefined })
    expect(await series()).toEqual([
      `csi_sidecar_unreferenced_volumes{${labels('Released')}} 1`,
      `csi_sidecar_unreferenced_volumes_bytes{${labels('Released')}} 1024`,
    ])
    leave()
    expect(await series()).toEqual([])
  })
})

describe('/debug/unreferenced', () => {
  it('answers 503 until the service has started', async () => {
    expect(await debugUnreferenced(undefined)).toMatchObject({ status: 503 })
  })

  it('lists the things with their kind, and the state of each search', async () => {
    join('volume', [item({})])
    const { status, body } = await debugUnreferenced(report)
    expect([status, JSON.parse(String(body))]).toEqual([
      200,
      {
        driver: 'csi.example.com',
        searches: [
          {
            sidecar: 'external-provisioner',
            kind: 'volume',
            scope: 'backend',
            listedAt: '2026-01-02T03:04:05.000Z',
            listed: 7,
            undecided: 1,
            undecidedBecause: 'a call may be running',
            omitted: 0,
          },
        ],
        items: [
          { kind: 'volume', reason: 'NoObject', handle: 'vol-1', sizeBytes: 1024, since: '2026-01-02T03:04:05.000Z' },
        ],
      },
    ])
  })
})
