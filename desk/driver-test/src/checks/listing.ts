import type { Violation } from './checks.ts'
import { certain, type KnownVolume, type Tracker } from './tracker.ts'

/** A volume in the answer to ListVolumes, or a snapshot in the answer to ListSnapshots. */
export interface Listed {
  readonly id: string
  /** The size in bytes. 0 if the driver does not report a size. */
  readonly capacity: bigint
  /** The IDs of the nodes to which the volume is published. Undefined if the driver does not list nodes. */
  readonly nodes: readonly string[] | undefined
}

/** The number of lists in a row that must show a difference before it is a finding. Lists may lag. */
const LOOKS = 2

/** Compares the driver's list of volumes, or of snapshots, with its answers to other calls. */
export class Listing {
  readonly #tracker: Tracker
  readonly #seen = new Map<string, { readonly changed: number; looks: number }>()

  constructor(tracker: Tracker) {
    this.#tracker = tracker
  }

  /** Compares a list with the recorded things that have no running call, and no change since `position` was read. */
  compare(listed: readonly Listed[], position: number): readonly Violation[] {
    const noun = this.#tracker.of.toLowerCase()
    const byId = new Map(listed.map((each) => [each.id, each]))
    const differences = this.#tracker.volumes
      .filter(({ busy, changed }) => busy === 0 && changed <= position)
      .flatMap((volume) => differencesOf(volume, byId.get(volume.id), noun).map((broken) => ({ broken, volume })))
    const current = new Set(differences.map(({ broken }) => broken.text))
    for (const text of this.#seen.keys()) if (!current.has(text)) this.#seen.delete(text)
    return differences.flatMap(({ broken, volume }) => (this.#isOld(broken, volume) ? [broken] : []))
  }

  /** Returns true once: when the same violation was in enough lists in a row. */
  #isOld({ text }: Violation, { changed }: KnownVolume): boolean {
    const before = this.#seen.get(text)
    const entry = before?.changed === changed ? before : { changed, looks: 0 }
    entry.looks += 1
    this.#seen.set(text, entry)
    return entry.looks === LOOKS
  }
}

function differencesOf(volume: KnownVolume, listed: Listed | undefined, noun: string): readonly Violation[] {
  const { id: subjectId, exists, capacity } = volume
  if (listed === undefined) {
    if (exists !== 'yes') return []
    return [{ check: 'kept', subjectId, text: `${noun} ${subjectId} was created and is not listed` }]
  }
  if (exists === 'no') return [{ check: 'ended', subjectId, text: `${noun} ${subjectId} was deleted and is listed` }]
  if (exists === 'maybe') return []
  return [...nodeDifferences(volume, listed), ...sizeDifference(subjectId, capacity, listed.capacity)]
}

function nodeDifferences({ id, nodes }: KnownVolume, listed: Listed): readonly Violation[] {
  const published = listed.nodes
  if (published === undefined) return []
  const lost = certain(nodes).filter((node) => !published.includes(node))
  const extra = published.filter((node) => !nodes.has(node))
  return [
    ...lost.map(
      (node): Violation => ({
        check: 'kept',
        subjectId: id,
        text: `volume ${id} was published to ${node} and is not listed there, without having been unpublished`,
      }),
    ),
    ...extra.map(
      (node): Violation => ({
        check: 'ended',
        subjectId: id,
        text: `volume ${id} is listed on ${node}, where it is not published`,
      }),
    ),
  ]
}

function sizeDifference(id: string, capacity: bigint, listed: bigint): readonly Violation[] {
  if (listed === 0n || listed >= capacity) return []
  return [{ check: 'capacity', subjectId: id, text: `volume ${id} has ${capacity} bytes and is listed with ${listed}` }]
}
