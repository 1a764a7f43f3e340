import { type Clock, inBatches, messageOf } from '@csi-sidecars/base'
import { listPages } from '@csi-sidecars/csi'
import type { ListSnapshotsResponse } from '@csi-sidecars/csi-proto'
import type { Reader } from '@csi-sidecars/informer'
import { type SightedThing, Sightings, type UnreferencedFindings, type UnreferencedItem } from '@csi-sidecars/sidecar'
import type { Content } from '../caches/content.ts'
import type { ContentMemory } from '../content/memory.ts'

/** The maximum number of snapshots, and of contents without a snapshot, that are remembered. */
const MAX_REMEMBERED = 10_000

type Contents = { readonly store: Pick<Reader<Content>, 'get' | 'values' | 'synced'> }
type Memory = Pick<ContentMemory, 'allLost'>

/** Everything that the search for snapshots without an object needs. */
export interface UnreferencedSnapshotsOptions {
  readonly contents: Contents
  /** The group contents. Undefined if group snapshots are off. Before they are read, no member counts as unreferenced. */
  readonly groupContents: Contents | undefined
  readonly memories: readonly Memory[]
  /** Reads one page of ListSnapshots. */
  readonly listPage: (startingToken: string, signal: AbortSignal) => Promise<ListSnapshotsResponse>
  /** The text in the handles of this cluster's snapshots. Empty: all snapshots of the back end count. */
  readonly handleFilter: string
  readonly clock: Clock
}

/** A snapshot of the back end that no content named when it was listed. */
interface ListedSnapshot {
  readonly handle: string
  readonly sizeBytes: number | undefined
  readonly sourceVolume: string | undefined
  readonly group: string | undefined
}

/** A content whose snapshot was not listed. */
interface UnlistedContent {
  readonly name: string
  readonly uid: string
  readonly handle: string
}

/**
 * Finds the snapshots of the back end that no content names, and the contents whose snapshot the back end does not list.
 * It only reads.
 *
 * Guarantees: it never names a snapshot that a VolumeSnapshotContent or a VolumeGroupSnapshotContent of the driver names,
 * or whose volume has a content without a handle: its creation may be running. In doubt a snapshot counts as undecided.
 */
export class UnreferencedSnapshots {
  readonly #options: UnreferencedSnapshotsOptions
  readonly #unnamed = new Sightings<ListedSnapshot>(MAX_REMEMBERED)
  readonly #unlisted = new Sightings<UnlistedContent>(MAX_REMEMBERED)
  #listedAt: number | undefined
  #listed = 0
  #undecidedReason: string | undefined
  #failure: string | undefined

  constructor(options: UnreferencedSnapshotsOptions) {
    this.#options = options
  }

  /** Lists the back end once. Throws the error of the driver. */
  async search(signal: AbortSignal): Promise<void> {
    try {
      await this.#list(signal)
      this.#failure = undefined
    } catch (error) {
      signal.throwIfAborted()
      this.#failure = messageOf(error)
      throw error
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { contents, clock, handleFilter, listPage } = this.#options
    const startedAt = clock.now()
    const unnamed = this.#unnamed.begin(startedAt)
    const unlisted = this.#unlisted.begin(startedAt)
    const before = [...contents.store.values()].filter(mustBeListed)
    const missing = new Set(before.flatMap(handlesOf))
    const expected = missing.size
    const visit = ({ snapshot }: ListSnapshotsResponse['entries'][number]): void => {
      if (snapshot === undefined) return
      const { snapshotId: handle, sizeBytes, sourceVolumeId, groupSnapshotId } = snapshot
      missing.delete(handle)
      if (!handle.includes(handleFilter)) return
      unnamed.add(handle, {
        handle,
        sizeBytes: sizeBytes > 0n ? Number(sizeBytes) : undefined,
        sourceVolume: sourceVolumeId === '' ? undefined : sourceVolumeId,
        group: groupSnapshotId === '' ? undefined : groupSnapshotId,
      })
    }
    const readPage = (token: string): Promise<ListSnapshotsResponse> => listPage(token, signal)
    const listed = await listPages({ method: 'ListSnapshots', nouns: 'snapshots', readPage, visit, clock })
    for (const content of before) {
      const [handle] = handlesOf(content)
      if (handle === undefined || !handlesOf(content).every((each) => missing.has(each))) continue
      unlisted.add(content.uid, { name: content.key, uid: content.uid, handle })
    }
    for (const content of contents.store.values()) for (const handle of handlesOf(content)) unnamed.remove(handle)
    unnamed.end()
    unlisted.end()
    this.#listedAt = startedAt
    this.#listed = listed
    this.#undecidedReason = expected > 0 && missing.size === expected ? NO_HANDLE_LISTED : undefined
  }

  /** Compares the last listing with the contents of this moment. */
  async read(): Promise<UnreferencedFindings> {
    const { clock, contents, memories, handleFilter } = this.#options
    const groupContents = this.#options.groupContents?.store.synced === true ? this.#options.groupContents : undefined
    const candidates = new Map([...this.#unnamed.seenTwice()].map((each) => [each.thing.handle, each]))
    const creating = new Set<string>()
    const groups = new Set<string>()
    const excludeContent = (content: Content): void => {
      for (const handle of [...handlesOf(content), ...membersOf(content)]) candidates.delete(handle)
      if (content.status?.handle === undefined) for (const volume of content.volumes) creating.add(volume)
    }
    // Lost contents are read before the cache. A content that returns to the cache during this read is then not missed.
    for (const memory of memories) for (const { content } of memory.allLost()) excludeContent(content)
    await inBatches(contents.store.values(), excludeContent, { clock })
    const excludeGroup = (content: Content): void => {
      excludeContent(content)
      for (const handle of handlesOf(content)) groups.add(handle)
    }
    if (groupContents !== undefined) await inBatches(groupContents.store.values(), excludeGroup, { clock })
    const unnamed = [...candidates.values()].filter(({ thing }) => !groups.has(thing.group ?? ''))
    const isDecided = ({ thing }: SightedThing<ListedSnapshot>): boolean => {
      if (this.#undecidedReason !== undefined || (thing.group !== undefined && groupContents === undefined))
        return false
      return thing.sourceVolume === undefined ? creating.size === 0 : !creating.has(thing.sourceVolume)
    }
    const decided = unnamed.filter(isDecided)
    const undecidedCount = unnamed.length - decided.length
    return {
      items: [...decided.map(itemOf), ...this.#unlistedItems()],
      listing: {
        listedAt: this.#listedAt,
        listedCount: this.#listed,
        isLimitedToCluster: handleFilter !== '',
        undecidedCount,
        undecidedReason: undecidedCount === 0 ? undefined : (this.#undecidedReason ?? CREATION_MAY_RUN),
        omittedCount: this.#unnamed.omitted + this.#unlisted.omitted,
        failure: this.#failure,
      },
    }
  }

  *#unlistedItems(): Generator<UnreferencedItem> {
    for (const { thing, since } of this.#unlisted.seenTwice()) {
      const { name, uid, handle } = thing
      const content = this.#options.contents.store.get(name)
      if (content?.uid !== uid || !mustBeListed(content) || !handlesOf(content).includes(handle)) continue
      const object = { kind: 'VolumeSnapshotContent', name }
      yield { reason: 'NotListed', handle, object, sizeBytes: undefined, since }
    }
  }
}

const CREATION_MAY_RUN = 'a creation of a snapshot of the same volume may be running, or group snapshots cannot be read'
const NO_HANDLE_LISTED = 'the listing shows no snapshot by the handle of its VolumeSnapshotContent'

/** Returns the handles that a content names, in its status and in its spec. */
function handlesOf({ status, preProvisioned }: Content): readonly string[] {
  return [status?.handle, preProvisioned?.handle].filter((handle) => handle !== undefined && handle !== '') as string[]
}

function membersOf({ status, preProvisioned }: Content): readonly string[] {
  return [...(status?.members ?? []), ...(preProvisioned?.members ?? [])]
}

/** Reports whether the back end must list the snapshot of the content: it is not being deleted. */
function mustBeListed(content: Content): boolean {
  return content.deletedSeconds === undefined && handlesOf(content).length > 0
}

function itemOf({ thing, since }: SightedThing<ListedSnapshot>): UnreferencedItem {
  const { handle, sizeBytes, sourceVolume } = thing
  return { reason: 'NoObject', handle, sizeBytes, sourceVolume, object: undefined, since }
}
