import { type Clock, messageOf, onPhase } from '@csi-sidecars/base'
import type { Run } from '@csi-sidecars/controller'
import { listPages } from '@csi-sidecars/csi'
import type { ListVolumesResponse } from '@csi-sidecars/csi-proto'
import type { Reader } from '@csi-sidecars/informer'
import type { Logger } from '@csi-sidecars/telemetry'
import type { CachedAttachment } from '../caches/attachment.ts'
import { listedHandle } from '../volumes/call-source.ts'
import { type AttachNodeView, type AttachVolumeView, nodeFailureText, nodeIdIn } from '../volumes/volume-view.ts'

/** The result of comparing the driver's listing with an attachment's status. */
export type ListingResult = 'same' | 'different'

/** How VolumeAttachments are compared with the list of the driver. */
export interface ComparisonOptions {
  /** Reads one page of ListVolumes. Each page has a separate deadline, so that a listing of many pages can succeed. */
  readonly listPage: (startingToken: string, signal: AbortSignal) => Promise<ListVolumesResponse>
  readonly attachments: Reader<CachedAttachment>
  readonly view: (va: CachedAttachment, signal: AbortSignal) => Promise<ComparedAttachment>
  /** Enqueues the attachment. The next run acts on `listing`, the result of the comparison. */
  readonly reprocess: (va: CachedAttachment, listing: ListingResult | undefined) => void
  /** Reports whether the status has an outdated error. Called only if the driver's listing agrees with the status. */
  readonly hasStaleError: (va: CachedAttachment) => boolean
  /** Begins to record CSI calls. A listing is not reliable for a volume whose call ran at the same time. */
  readonly callsSince: () => CallsSince
  readonly driverName: string
  readonly periodMs: number
  /** The number of consecutive listings that must disagree with a status in the same way before the key is enqueued. */
  readonly confirmations: number
  readonly clock: Clock
  readonly log: Logger
}

/** The keys with a CSI call since `since()` was called, including calls that were under way at that moment. */
export interface CallsSince extends Disposable {
  has(key: string): boolean
}

export type ListingVerdict =
  | { readonly kind: 'same' }
  | { readonly kind: 'different'; readonly volumeHandle: string; readonly found: boolean }
  | { readonly kind: 'unknown'; readonly why: string }
  /** The attachment is not compared: it has an inline volume, and the driver replaces no in-tree plugin. */
  | { readonly kind: 'notCompared' }

/** The number of consecutive listings that disagreed with an attachment. A recreated attachment starts from zero. */
interface Suspicion {
  readonly uid: string
  readonly attached: boolean
  readonly times: number
}

/**
 * Compares our attachments with one listing after another until `signal` is aborted. The pause between them is
 * `periodMs`, or the duration of the last listing if that was longer.
 */
export async function compareForever(options: ComparisonOptions, signal: AbortSignal): Promise<void> {
  const { clock, log, periodMs } = options
  const suspicions = new Map<string, Suspicion>()
  while (!signal.aborted) {
    const started = clock.monotonic()
    try {
      await compareOnce(options, suspicions, signal)
    } catch (error) {
      if (signal.aborted) return
      log.error(error, 'Failed to reconcile VolumeAttachment')
    }
    const took = clock.monotonic() - started
    await clock.sleep(Math.max(periodMs, took), signal).catch(() => {})
  }
}

async function compareOnce(
  options: ComparisonOptions,
  suspicions: Map<string, Suspicion>,
  signal: AbortSignal,
): Promise<void> {
  using callsDuringListing = options.callsSince()
  const before = [...options.attachments.values()].filter((va) => va.ours)
  const published = await listAll(options, signal)
  const differing = new Set<string>()
  for (const va of before) {
    const verdict = await verdictOf(options, { va, published }, signal)
    // The attachment changed during the listing, so the listing may show the old or the new state.
    if (options.attachments.get(va.key) !== va || callsDuringListing.has(va.key)) continue
    if (verdict.kind === 'different') differing.add(va.key)
    handleVerdict(options, suspicions, { va, verdict })
  }
  for (const key of suspicions.keys()) {
    if (!differing.has(key)) suspicions.delete(key)
  }
}

/** Returns `unknown` for an attachment that cannot be compared, so that the other attachments are compared. */
async function verdictOf(
  { view, driverName }: ComparisonOptions,
  { va, published }: { readonly va: CachedAttachment; readonly published: PublishedNodes },
  signal: AbortSignal,
): Promise<ListingVerdict> {
  try {
    return compareAttachment(await view(va, signal), published, driverName)
  } catch (error) {
    signal.throwIfAborted()
    return { kind: 'unknown', why: messageOf(error) }
  }
}

function handleVerdict(
  { confirmations, reprocess, hasStaleError, log }: ComparisonOptions,
  suspicions: Map<string, Suspicion>,
  { va, verdict }: { readonly va: CachedAttachment; readonly verdict: ListingVerdict },
): void {
  const VolumeAttachment = va.key
  if (verdict.kind === 'unknown') {
    log.error(new Error(verdict.why), 'VolumeAttachment cannot be compared with the driver', { VolumeAttachment })
    return
  }
  if (verdict.kind === 'same' && hasStaleError(va)) reprocess(va, 'same')
  if (verdict.kind !== 'different') return
  const attached = va.attached === true
  const { uid } = va
  const last = suspicions.get(va.key)
  const times = last?.uid === uid && last.attached === attached ? last.times + 1 : 1
  suspicions.set(va.key, { uid, attached, times })
  const { volumeHandle, found } = verdict
  if (times < confirmations) {
    const pairs = { VolumeAttachment, volumeHandle, attachedStatus: attached, found, seen: times, confirmations }
    log.v(2)?.info('VolumeAttachment attached status and actual state do not match, waiting for another listing', pairs)
    return
  }
  log.error(
    undefined,
    'VolumeAttachment attached status and actual state do not match. Adding back to VolumeAttachment queue for forced reprocessing',
    { VolumeAttachment, volumeHandle, attachedStatus: attached, found },
  )
  // A volume that is listed but not marked as attached is only enqueued, because its attach may be under way.
  reprocess(va, attached || va.deleting ? 'different' : undefined)
}

/** Reads all pages of ListVolumes. */
export async function listAll(
  { listPage, clock }: Pick<ComparisonOptions, 'listPage' | 'clock'>,
  signal: AbortSignal,
): Promise<PublishedNodes> {
  const published = new Map<string, ReadonlySet<string>>()
  await listPages({
    method: 'ListVolumes',
    nouns: 'volumes',
    readPage: (token) => listPage(token, signal),
    visit: ({ volume, status }) => {
      // A volume without nodes counts like a volume that is not listed, so it is not stored.
      if (!volume || !status?.publishedNodeIds.length) return
      published.set(volume.volumeId, new Set(status.publishedNodeIds))
    },
    clock,
  })
  return published
}

/** Records the keys whose runs call the driver. Runs without a call are not recorded. */
export class CallLog {
  readonly #calling = new Set<string>()
  readonly #openPeriods = new Set<Set<string>>()

  /** Performs a run of a key. The key counts as calling the driver from the run's first CSI call until the run ends. */
  async run<T>(key: string, { signal }: Pick<Run, 'signal'>, work: () => Promise<T>): Promise<T> {
    const ignorePhases = onPhase(signal, (phase) => {
      if (phase === 'calling') this.#recordCall(key)
    })
    try {
      return await work()
    } finally {
      ignorePhases()
      this.#calling.delete(key)
    }
  }

  /** Records the keys that call the driver from now on, including running calls. */
  since(): CallsSince {
    const seen = new Set(this.#calling)
    this.#openPeriods.add(seen)
    return { has: (key) => seen.has(key), [Symbol.dispose]: () => this.#openPeriods.delete(seen) }
  }

  #recordCall(key: string): void {
    this.#calling.add(key)
    for (const seen of this.#openPeriods) seen.add(key)
  }
}

/** The result of ListVolumes: the IDs of the nodes that each volume is published to, by volume handle. */
type PublishedNodes = ReadonlyMap<string, ReadonlySet<string>>

/** One of our VolumeAttachments, with its volume and its node. */
interface ComparedAttachment {
  readonly va: CachedAttachment
  readonly volume: AttachVolumeView
  readonly node: AttachNodeView
}

/** Compares the driver's answer to ListVolumes with the status of an attachment. */
export function compareAttachment(
  { va, volume, node }: ComparedAttachment,
  published: PublishedNodes,
  driverName: string,
): ListingVerdict {
  const nodeId = nodeIdIn(node) ?? va.nodeId
  if (nodeId === undefined) return { kind: 'unknown', why: nodeFailureText(va.nodeName, node, driverName) }
  const listed = listedHandle(volume, nodeId)
  if (!listed.ok) {
    const isForeign = volume.kind === 'inline' && listed.code === 'UNKNOWN_NAME'
    return isForeign ? { kind: 'notCompared' } : { kind: 'unknown', why: listed.message }
  }
  const { volumeHandle } = listed
  const found = published.get(volumeHandle)?.has(nodeId) === true
  return found === (va.attached === true) ? { kind: 'same' } : { kind: 'different', volumeHandle, found }
}
