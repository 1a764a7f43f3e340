import { FakeClock } from '@csi-sidecars/base/testing'
import type { ListVolumesResponse } from '@csi-sidecars/csi-proto'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import type { CachedAttachment } from '../caches/attachment.ts'
import { CallLog, type ComparisonOptions, compareForever } from '../published-nodes/resync.ts'
import { DRIVER, ofPv, volume } from './views.ts'

export const page = (nextToken: string, ...volumes: [handle: string, ...nodes: string[]][]): ListVolumesResponse => ({
  nextToken,
  entries: volumes.map(([volumeId, ...publishedNodeIds]) => ({
    volume: { volumeId, capacityBytes: 0n, volumeContext: {}, contentSource: undefined, accessibleTopology: [] },
    status: { publishedNodeIds },
  })),
})

/** Runs the comparison of cached VolumeAttachments with the listing of a fake driver. */
export class ComparisonFixture {
  readonly clock = new FakeClock()
  readonly stop = new AbortController()
  /** The enqueued keys: `va1` if the listing differs from the status, `va1 same` if it agrees, else `va1 as usual`. */
  readonly enqueued: string[] = []
  /** The tokens of the pages that the driver was asked for. */
  readonly asked: string[] = []
  readonly work = new CallLog()
  readonly log = recordingLogger()
  readonly #attachments = new Map<string, CachedAttachment>()

  has(va: CachedAttachment): void {
    this.#attachments.set(va.key, va)
  }

  start(change: Partial<ComparisonOptions> & { pages?: () => Promise<ListVolumesResponse> }): Promise<void> {
    const { pages = async () => page(''), ...options } = change
    const attachments = this.#attachments
    return compareForever(
      {
        listPage: (token) => {
          this.asked.push(token)
          return pages()
        },
        attachments: {
          get: (key: string) => attachments.get(key),
          values: () => attachments.values(),
          size: attachments.size,
          byIndex: () => [],
          synced: true,
          whenSynced: async () => {},
        },
        view: async (va) => ({ va, volume: ofPv(volume()), node: { kind: 'id', nodeId: 'node1-id' } }),
        reprocess: ({ key }, listing) =>
          this.enqueued.push(listing === 'different' ? key : `${key} ${listing ?? 'as usual'}`),
        hasStaleError: ({ attachError }) => attachError !== undefined,
        callsSince: () => this.work.since(),
        driverName: DRIVER,
        periodMs: 60_000,
        confirmations: 2,
        clock: this.clock,
        log: this.log,
        ...options,
      },
      this.stop.signal,
    )
  }
}
