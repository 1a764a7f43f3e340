import { type Clock, messageOf } from '@csi-sidecars/base'
import type { ListVolumesResponse } from '@csi-sidecars/csi-proto'
import type { Reader } from '@csi-sidecars/informer'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Attachment } from '../caches/attachment.ts'
import { type Compared, compare, type Published, type Verdict } from './diff.ts'
import type { WorkSince } from './work-log.ts'

/** The result of comparing the driver's listing with an attachment's status. */
export type ListingResult = 'same' | 'different'

export interface ComparisonOptions {
  /** One page of ListVolumes; each has a deadline of its own, so that a long listing can end. */
  readonly listPage: (startingToken: string, signal: AbortSignal) => Promise<ListVolumesResponse>
  readonly attachments: Reader<Attachment>
  readonly view: (va: Attachment, signal: AbortSignal) => Promise<Compared>
  /**
   * Has the attachment worked on: as usual, or though by what is stored there is nothing to do, because the driver says
   * something else, or says the same beside the error of an earlier try.
   */
  readonly reprocess: (va: Attachment, listing: ListingResult | undefined) => void
  /** Whether the status has an error that is out of date once the driver lists the same. */
  readonly hasStaleError: (va: Attachment) => boolean
  /** Begins to note what is worked on: a listing says nothing sure about a call that ran beside it. */
  readonly workSince: () => WorkSince
  readonly driverName: string
  readonly periodMs: number
  /** Listings in a row that must disagree in the same way before anything is done. */
  readonly confirmations: number
  readonly clock: Clock
  readonly log: Logger
}

/** Drivers may answer pages without a volume, and back ends are large; beyond this a listing will not end by itself. */
const MOST_EMPTY_PAGES = 1_000
const MOST_VOLUMES = 1_000_000
/** However quick its pages are: a driver that answers each with a new token is given up after this. */
const LONGEST_LISTING_MS = 5 * 60_000

/** How often in a row an attachment was seen to differ, and how. Another one of the same name starts from zero. */
interface Suspicion {
  readonly uid: string
  readonly attached: boolean
  readonly times: number
}

/**
 * Compares our attachments with what the driver says is published, one listing after the other, until aborted.
 * The pause is the period, or as long as the last listing took when that was longer: a slow driver gets its rest.
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
  using worked = options.workSince()
  const before = [...options.attachments.values()].filter((va) => va.ours)
  const published = await listAll(options, signal)
  const seen = new Set<string>()
  for (const va of before) {
    const verdict = await verdictOf(options, { va, published }, signal)
    // It changed while the driver was listing: the listing may show either of the two states.
    if (options.attachments.get(va.key) !== va || worked.has(va.key)) continue
    if (verdict.is === 'different') seen.add(va.key)
    act(options, suspicions, { va, verdict })
  }
  for (const key of suspicions.keys()) if (!seen.has(key)) suspicions.delete(key)
}

/** What is wrong with one attachment leaves the others to be compared. */
async function verdictOf(
  { view, driverName }: ComparisonOptions,
  { va, published }: { readonly va: Attachment; readonly published: Published },
  signal: AbortSignal,
): Promise<Verdict> {
  try {
    return compare(await view(va, signal), published, driverName)
  } catch (error) {
    signal.throwIfAborted()
    return { is: 'unknown', why: messageOf(error) }
  }
}

function act(
  { confirmations, reprocess, hasStaleError, log }: ComparisonOptions,
  suspicions: Map<string, Suspicion>,
  { va, verdict }: { readonly va: Attachment; readonly verdict: Verdict },
): void {
  const VolumeAttachment = va.key
  if (verdict.is === 'unknown') {
    log.error(new Error(verdict.why), 'VolumeAttachment cannot be compared with the driver', { VolumeAttachment })
    return
  }
  if (verdict.is === 'same' && hasStaleError(va)) reprocess(va, 'same')
  if (verdict.is !== 'different') return
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
  // What is not attached yet and not to go is attached without being forced; it may be under way at this moment.
  reprocess(va, attached || va.deleting ? 'different' : undefined)
}

/** All pages of one listing. */
export async function listAll(
  { listPage, clock }: Pick<ComparisonOptions, 'listPage' | 'clock'>,
  signal: AbortSignal,
): Promise<Published> {
  const published = new Map<string, ReadonlySet<string>>()
  const seen = new Set<string>()
  const started = clock.monotonic()
  let token = ''
  let volumes = 0
  let emptyPages = 0
  do {
    const page = await listPage(token, signal).catch((cause: unknown) => {
      throw new Error(`failed to ListVolumes: failed to list volumes: ${messageOf(cause)}`, { cause })
    })
    for (const { volume, status } of page.entries) {
      // One that is published nowhere counts as one that is not listed, and takes no memory.
      if (!volume || !status?.publishedNodeIds.length) continue
      published.set(volume.volumeId, new Set(status.publishedNodeIds))
    }
    volumes += page.entries.length
    emptyPages = page.entries.length === 0 ? emptyPages + 1 : 0
    seen.add(token)
    token = page.nextToken
    // A page that leads back to itself, or to an earlier one: following it would never end.
    if (token !== '' && seen.has(token)) {
      throw new Error(`failed to ListVolumes: the driver answered token ${JSON.stringify(token)} with itself`)
    }
    if (token !== '' && (volumes > MOST_VOLUMES || emptyPages >= MOST_EMPTY_PAGES)) {
      const after = emptyPages > 0 ? `${emptyPages} pages without a volume` : `${volumes} volumes`
      throw new Error(`failed to ListVolumes: the driver goes on after ${after}`)
    }
    if (token !== '' && clock.monotonic() - started > LONGEST_LISTING_MS) {
      const minutes = LONGEST_LISTING_MS / 60_000
      throw new Error(
        `failed to ListVolumes: the listing has not ended after ${minutes} minutes and ${volumes} volumes`,
      )
    }
  } while (token !== '')
  return published
}
