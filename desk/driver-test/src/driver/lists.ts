import type { Clock } from '@csi-sidecars/base'
import { type Driver, RpcError } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  ListSnapshots,
  type ListSnapshotsResponse_Entry,
  ListVolumes,
  type ListVolumesResponse_Entry,
} from '@csi-sidecars/csi-proto'
import type { Checker } from '../checks/checker.ts'
import { type Listed, Listing } from '../checks/listing.ts'
import { RETRYABLE_CODES } from '../checks/repetition.ts'
import type { Tracked, Tracker } from '../checks/tracker.ts'

const LIST_MS = 30_000
/** The largest number of pages of one list. A list with more pages is treated as endless. */
const MAX_PAGES = 1_000

/** The volumes or snapshots in the driver's list, or the reason why there is no list. */
export type ListAnswer =
  | { readonly kind: 'list'; readonly listed: readonly Listed[] }
  | {
      readonly kind: 'failure'
      readonly why: string
      /** True if the driver asks for a retry. */
      readonly isRetryable: boolean
    }
  | { readonly kind: 'endless'; readonly why: string; readonly isRetryable: false }

export function canList(driver: Driver, of: Tracked = 'Volume'): boolean {
  return driver.capabilities.controller.has(of === 'Volume' ? ControllerRpc.LIST_VOLUMES : ControllerRpc.LIST_SNAPSHOTS)
}

export function listsNodes(driver: Driver): boolean {
  return driver.capabilities.controller.has(ControllerRpc.LIST_VOLUMES_PUBLISHED_NODES)
}

/** Reads all pages of the driver's list of volumes or of snapshots. */
export async function listAll(driver: Driver, of: Tracked, signal: AbortSignal): Promise<ListAnswer> {
  const all: Listed[] = []
  let startingToken = ''
  try {
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const request = { startingToken, maxEntries: 0, sourceVolumeId: '', snapshotId: '', secrets: {} }
      const limits = { timeoutMs: LIST_MS, signal }
      const { entries, nextToken } =
        of === 'Volume'
          ? await driver.call(ListVolumes, request, limits)
          : await driver.call(ListSnapshots, request, limits)
      all.push(...entries.map((entry) => listed(entry, listsNodes(driver))))
      startingToken = nextToken
      if (startingToken === '') return { kind: 'list', listed: all }
    }
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof RpcError)) throw error
    return {
      kind: 'failure',
      why: `${error.codeName} ${JSON.stringify(error.details)}`,
      isRetryable: RETRYABLE_CODES.has(error.code),
    }
  }
  return { kind: 'endless', why: `it has no end, there are more than ${MAX_PAGES} pages`, isRetryable: false }
}

function listed(entry: ListVolumesResponse_Entry | ListSnapshotsResponse_Entry, withNodes: boolean): Listed {
  if ('snapshot' in entry) return { id: entry.snapshot?.snapshotId ?? '', capacity: 0n, nodes: undefined }
  const { volume, status } = entry
  return {
    id: volume?.volumeId ?? '',
    capacity: volume?.capacityBytes ?? 0n,
    nodes: withNodes ? (status?.publishedNodeIds ?? []) : undefined,
  }
}

/** The number of checks for remaining objects. A provisioner may need ten seconds until it repeats a deletion. */
const GONE_LOOKS = 20
const GONE_MS = 60_000
/** The pause between two checks. */
const GONE_LOOK_MS = 1_000

/**
 * Repeats `list` until the list is empty or the time is over. Returns the last list that `list` returned. Undefined if
 * `list` never returned a list.
 */
export async function waitUntilEmpty(
  list: () => Promise<readonly string[] | undefined>,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  let left: readonly string[] | undefined
  const until = clock.monotonic() + GONE_MS
  for (let looks = GONE_LOOKS; looks > 0 && clock.monotonic() < until; looks -= 1) {
    left = (await list()) ?? left
    if (left?.length === 0) break
    await clock.sleep(GONE_LOOK_MS, signal)
  }
  return left
}

/** After this number of failed lists in a row the test reports a finding. */
const REFUSALS = 2

/** The driver's list of its volumes or of its snapshots, which is compared with its answers to other calls. */
export class WatchedList {
  readonly #driver: Driver
  readonly #checker: Checker
  readonly #tracker: Tracker
  readonly #listing: Listing
  /** The IDs in the first list. They belong to other users. */
  #foreign: ReadonlySet<string> = new Set()
  #refusals = 0
  #isEndless = false

  constructor(driver: Driver, checker: Checker, tracker: Tracker) {
    this.#driver = driver
    this.#checker = checker
    this.#tracker = tracker
    this.#listing = new Listing(tracker)
  }

  get #hasList(): boolean {
    return canList(this.#driver, this.#tracker.of) && !this.#isEndless
  }

  /** Records the volumes or snapshots of other users. It must run before the test creates some. */
  async begin(signal: AbortSignal): Promise<void> {
    this.#foreign = new Set((await this.#list(signal))?.map(({ id }) => id))
  }

  async check(signal: AbortSignal): Promise<void> {
    const { position } = this.#tracker
    const listed = await this.#list(signal)
    for (const broken of listed === undefined ? [] : this.#listing.compare(listed, position))
      this.#checker.report(broken)
  }

  /** Returns the list. Undefined if the call has failed, for a driver without lists, and after an endless list. */
  async #list(signal: AbortSignal): Promise<readonly Listed[] | undefined> {
    if (!this.#hasList) return undefined
    const answer = await listAll(this.#driver, this.#tracker.of, signal)
    if (answer.kind === 'list') {
      this.#refusals = 0
      return answer.listed
    }
    this.#isEndless = answer.kind === 'endless'
    if (!answer.isRetryable) this.#refusals += 1
    if (this.#isEndless || this.#refusals >= REFUSALS) this.#refuse(answer.why)
    return undefined
  }

  /** Returns the volumes or snapshots that are left after everything was deleted. */
  async left(clock: Clock, signal: AbortSignal): Promise<readonly string[]> {
    const { of } = this.#tracker
    const textOf = (id: string, state: string): string => `${of.toLowerCase()} ${id} ${state}`
    const listed = async (): Promise<readonly string[] | undefined> =>
      (await this.#list(signal))
        ?.filter(({ id }) => !this.#foreign.has(id))
        .map(({ id }) => textOf(id, 'is left in the back end'))
    const undeleted = async (): Promise<readonly string[]> =>
      this.#tracker.volumes
        .filter(({ exists }) => exists !== 'no')
        .map(({ id }) => textOf(id, 'was created and never deleted'))
    const left = await waitUntilEmpty(this.#hasList ? listed : undeleted, clock, signal)
    if (left !== undefined) return left
    if (!this.#checker.findings.some(({ check }) => check === 'listed'))
      this.#refuse('it was not answered when everything was deleted')
    return await undeleted()
  }

  #refuse(why: string): void {
    const text = `List${this.#tracker.of}s, of which the driver says that it has it: ${why}`
    this.#checker.report({ check: 'listed', subjectId: undefined, text })
  }
}
