import { type Clock, inBatches, messageOf } from '@csi-sidecars/base'
import { listPages } from '@csi-sidecars/csi'
import type { ListVolumesResponse } from '@csi-sidecars/csi-proto'
import type { Reader } from '@csi-sidecars/informer'
import { type SightedThing, Sightings, type UnreferencedFindings, type UnreferencedItem } from '@csi-sidecars/sidecar'
import type { ProvisionerVolume } from '../caches/volume.ts'
import type { ClaimMemory } from '../claims/memory.ts'
import { type CreationFacts, runningCreations, waitingClaims } from './creations.ts'
import { comparableHandle, isInlineVolume, lastPart } from './handles.ts'

/** The maximum number of volumes, and of PersistentVolumes without a volume, that are remembered. */
export const MAX_SIGHTINGS = 10_000

/** The time after which a Released PersistentVolume is reported. */
export const MIN_RELEASED_MS = 24 * 3_600_000

/** Everything that the search for volumes without an object needs. */
export interface UnreferencedVolumesOptions extends CreationFacts {
  readonly volumes: { readonly store: Pick<Reader<ProvisionerVolume>, 'get' | 'values'> }
  readonly memory: CreationFacts['memory'] & Pick<ClaimMemory, 'unsavedVolumes'>
  /** Reads one page of ListVolumes. Undefined if the driver cannot list its volumes. */
  readonly listPage: ((startingToken: string, signal: AbortSignal) => Promise<ListVolumesResponse>) | undefined
  /** The text in the handles of this cluster's volumes. Empty: all volumes of the back end count. */
  readonly handleFilter: string
  readonly clock: Clock
}

/** A volume of the back end that no PersistentVolume named when it was listed. */
interface ListedVolume {
  readonly handle: string
  readonly sizeBytes: number | undefined
  readonly publishedNodes: number
}

/** A PersistentVolume whose volume was not listed. */
interface UnlistedVolume {
  readonly name: string
  readonly uid: string
  readonly handle: string
}

/**
 * Finds the volumes of the back end that no object names, the PersistentVolumes whose volume the back end does not list,
 * and the PersistentVolumes that have been Released for long. It only reads.
 *
 * Guarantees: it never names a volume that a PersistentVolume of the driver names, that this process is about to store,
 * or that may belong to a running CreateVolume call. In doubt a volume counts as undecided.
 */
export class UnreferencedVolumes {
  readonly #options: UnreferencedVolumesOptions
  readonly #unnamed = new Sightings<ListedVolume>(MAX_SIGHTINGS)
  readonly #unlisted = new Sightings<UnlistedVolume>(MAX_SIGHTINGS)
  /** The number of the first listing at whose end a claim waited for a volume, by the UID of the claim. */
  #waitingSince: ReadonlyMap<string, number> = new Map()
  /** When a Released PersistentVolume without a time of its own was seen for the first time, by UID. */
  #releasedSince: ReadonlyMap<string, number> = new Map()
  #listedAt: number | undefined
  #listed = 0
  #undecidedReason: string | undefined
  #failure: string | undefined

  constructor(options: UnreferencedVolumesOptions) {
    this.#options = options
  }

  /** Lists the back end once. Throws the error of the driver. */
  async search(signal: AbortSignal): Promise<void> {
    this.#rememberReleased()
    const { listPage } = this.#options
    if (listPage === undefined) return
    try {
      await this.#list((token) => listPage(token, signal))
      this.#failure = undefined
    } catch (error) {
      signal.throwIfAborted()
      this.#failure = messageOf(error)
      throw error
    }
  }

  async #list(readPage: (token: string) => Promise<ListVolumesResponse>): Promise<void> {
    const { clock, handleFilter } = this.#options
    const startedAt = clock.now()
    const unnamed = this.#unnamed.begin(startedAt)
    const unlisted = this.#unlisted.begin(startedAt)
    const namedBefore = new NamedVolumes(this.#options.volumes.store.values())
    const foundHandles = new Set<string>()
    const visit = ({ volume, status }: ListVolumesResponse['entries'][number]): void => {
      if (volume === undefined) return
      const id = comparableHandle(volume.volumeId)
      if (namedBefore.hasHandle(id)) foundHandles.add(id)
      if (namedBefore.inTree.has(lastPart(id))) foundHandles.add(lastPart(id))
      if (namedBefore.hasHandle(id) || !volume.volumeId.includes(handleFilter) || isInlineVolume(id)) return
      unnamed.add(id, {
        handle: volume.volumeId,
        sizeBytes: sizeOf(volume.capacityBytes),
        publishedNodes: status?.publishedNodeIds.length ?? 0,
      })
    }
    const listed = await listPages({ method: 'ListVolumes', nouns: 'volumes', readPage, visit, clock })
    for (const pv of namedBefore.volumes) {
      if (pv.handle === undefined || foundHandles.has(comparableHandle(pv.handle)) || !mustBeListed(pv)) continue
      unlisted.add(pv.uid, { name: pv.key, uid: pv.uid, handle: pv.handle })
    }
    unnamed.end()
    unlisted.end()
    this.#listedAt = startedAt
    this.#listed = listed
    this.#undecidedReason = whyUndecided(namedBefore, foundHandles)
    this.#rememberWaiting()
  }

  /** Compares the last listing with the objects of this moment. */
  async read(): Promise<UnreferencedFindings> {
    const { clock, volumes, memory, handleFilter } = this.#options
    const candidates = new Map(
      [...this.#unnamed.seenTwice()].map((each) => [comparableHandle(each.thing.handle), each]),
    )
    const byLastPart = groupByLastPart(candidates.keys())
    // Running creations and unsaved volumes are read before the PersistentVolumes: a volume whose PersistentVolume is
    // stored meanwhile is then in at least one of them.
    const firstUncertainListing = this.#firstUncertainListing()
    for (const { created } of memory.unsavedVolumes.values()) candidates.delete(comparableHandle(created.volumeId))
    const released: UnreferencedItem[] = []
    const excludeAndCheck = (pv: ProvisionerVolume): void => {
      for (const id of comparableHandlesOf(pv, byLastPart)) candidates.delete(id)
      const item = this.#releasedItem(pv)
      if (item !== undefined) released.push(item)
    }
    await inBatches(volumes.store.values(), excludeAndCheck, { clock })
    const unnamed = [...candidates.values()]
    const decided =
      this.#undecidedReason === undefined ? unnamed.filter((each) => each.firstListing < firstUncertainListing) : []
    const undecidedCount = unnamed.length - decided.length
    return {
      items: [...decided.map(itemOf), ...released, ...this.#unlistedItems()],
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

  /**
   * Returns the first listing whose new volumes may belong to a running creation. A volume that was listed before the
   * claim existed belongs to another claim.
   */
  #firstUncertainListing(): number {
    let oldest = Number.POSITIVE_INFINITY
    for (const uid of runningCreations(this.#options)) {
      oldest = Math.min(oldest, this.#waitingSince.get(uid) ?? Number.POSITIVE_INFINITY)
    }
    return oldest
  }

  #rememberWaiting(): void {
    const { listing } = this.#unnamed
    const waiting = [...waitingClaims(this.#options)]
    this.#waitingSince = new Map(waiting.map((uid) => [uid, this.#waitingSince.get(uid) ?? listing]))
  }

  #rememberReleased(): void {
    const { volumes, clock } = this.#options
    const since = new Map<string, number>()
    for (const { uid, released } of volumes.store.values()) {
      if (released !== undefined) since.set(uid, this.#releasedSince.get(uid) ?? clock.now())
    }
    this.#releasedSince = since
  }

  #releasedItem({ key, uid, handle, released }: ProvisionerVolume): UnreferencedItem | undefined {
    if (released === undefined || handle === undefined) return undefined
    const since = released.since ?? this.#releasedSince.get(uid)
    if (since === undefined || this.#options.clock.now() - since < MIN_RELEASED_MS) return undefined
    const object = { kind: 'PersistentVolume', name: key }
    return { reason: 'Released', handle, object, sizeBytes: released.sizeBytes, since }
  }

  *#unlistedItems(): Generator<UnreferencedItem> {
    for (const { thing, since } of this.#unlisted.seenTwice()) {
      const { name, uid, handle } = thing
      const pv = this.#options.volumes.store.get(name)
      if (pv?.uid !== uid || pv.handle !== handle || !mustBeListed(pv)) continue
      const object = { kind: 'PersistentVolume', name }
      yield { reason: 'NotListed', handle, object, sizeBytes: undefined, since }
    }
  }
}

const CREATION_MAY_RUN = 'a CreateVolume call that may be running may have created them'

/** The PersistentVolumes of the driver at the start of a listing, and the volumes that they name. */
class NamedVolumes {
  readonly volumes: readonly ProvisionerVolume[]
  /** The last parts of the handles of volumes of the migrated in-tree plugin. */
  readonly inTree: ReadonlySet<string>
  readonly #handles: ReadonlySet<string>

  constructor(volumes: Iterable<ProvisionerVolume>) {
    this.volumes = [...volumes].filter(({ handle, inTreeHandle }) => (handle ?? inTreeHandle) !== undefined)
    this.#handles = new Set(
      this.volumes.flatMap(({ handle }) => (handle === undefined ? [] : comparableHandle(handle))),
    )
    this.inTree = new Set(
      this.volumes.flatMap(({ inTreeHandle }) =>
        inTreeHandle === undefined ? [] : lastPart(comparableHandle(inTreeHandle)),
      ),
    )
  }

  hasHandle(id: string): boolean {
    return this.#handles.has(id)
  }
}

/** Returns why no volume of a listing can be judged. Undefined if the listing names volumes as PersistentVolumes do. */
function whyUndecided({ volumes, inTree }: NamedVolumes, found: ReadonlySet<string>): string | undefined {
  const unlistedInTree = [...inTree].filter((name) => !found.has(name)).length
  if (unlistedInTree > 0)
    return `the listing does not show the volumes of ${unlistedInTree} in-tree PersistentVolumes by their names`
  const expected = volumes.filter(mustBeListed)
  const isKnown = ({ handle }: ProvisionerVolume): boolean =>
    handle === undefined || found.has(comparableHandle(handle))
  if (expected.length === 0 || expected.some(isKnown)) return undefined
  return 'the listing shows no volume by the handle of its PersistentVolume'
}

/** Reports whether the back end must list the volume: it is not about to be deleted, and this node can reach it. */
function mustBeListed({ handle, deleting, isReachable }: ProvisionerVolume): boolean {
  return handle !== undefined && !deleting && isReachable
}

/** Returns the candidates that may be the volume of a PersistentVolume. */
function comparableHandlesOf(
  { handle, inTreeHandle }: ProvisionerVolume,
  byLastPart: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const named = handle ?? inTreeHandle
  if (named === undefined) return []
  const id = comparableHandle(named)
  return [id, ...(byLastPart.get(lastPart(id)) ?? [])]
}

function groupByLastPart(ids: Iterable<string>): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>()
  for (const id of ids) {
    const group = groups.get(lastPart(id)) ?? []
    groups.set(lastPart(id), group)
    group.push(id)
  }
  return groups
}

function itemOf({ thing, since }: SightedThing<ListedVolume>): UnreferencedItem {
  return { reason: 'NoObject', ...thing, object: undefined, since }
}

/** Returns the size. Undefined if the driver does not report it. */
function sizeOf(bytes: bigint): number | undefined {
  return bytes > 0n ? Number(bytes) : undefined
}
