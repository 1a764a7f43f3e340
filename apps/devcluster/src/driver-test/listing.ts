import { certain, type KnownVolume, type Ledger } from './ledger.ts'
import type { Broken } from './promises.ts'

/** A volume as ListVolumes tells of it. */
export interface Listed {
  readonly id: string
  /** 0 where the driver does not say. */
  readonly capacity: bigint
  /** Undefined where the driver does not tell. */
  readonly nodes: readonly string[] | undefined
}

/** So often in a row a difference must be seen, with no call about the volume between: a list may be a little late. */
const LOOKS = 2

/** Compares what the driver lists with what it has answered. */
export class Listing {
  readonly #ledger: Ledger
  readonly #seen = new Map<string, { readonly changed: number; looks: number }>()

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  /** `mark`: of the ledger, before the list was asked for. A volume that was called about since is left to the next look. */
  look(listed: readonly Listed[], mark: number): readonly Broken[] {
    const byId = new Map(listed.map((each) => [each.id, each]))
    const differences = this.#ledger.volumes
      .filter(({ busy, changed }) => busy === 0 && changed <= mark)
      .flatMap((volume) => differencesOf(volume, byId.get(volume.id)).map((broken) => ({ broken, volume })))
    const current = new Set(differences.map(({ broken }) => broken.text))
    for (const text of this.#seen.keys()) if (!current.has(text)) this.#seen.delete(text)
    return differences.flatMap(({ broken, volume }) => (this.#isOld(broken, volume) ? [broken] : []))
  }

  /** True once, when a difference has been seen often enough. */
  #isOld({ text }: Broken, { changed }: KnownVolume): boolean {
    const before = this.#seen.get(text)
    const entry = before?.changed === changed ? before : { changed, looks: 0 }
    entry.looks += 1
    this.#seen.set(text, entry)
    return entry.looks === LOOKS
  }
}

function differencesOf(volume: KnownVolume, listed: Listed | undefined): readonly Broken[] {
  const { id: about, exists, capacity } = volume
  if (listed === undefined) {
    if (exists !== 'yes') return []
    return [{ promise: 'kept', about, text: `volume ${about} was made and is not listed` }]
  }
  if (exists === 'no') return [{ promise: 'ended', about, text: `volume ${about} was deleted and is listed` }]
  if (exists === 'maybe') return []
  return [...nodeDifferences(volume, listed), ...sizeDifference(about, capacity, listed.capacity)]
}

function nodeDifferences({ id: about, nodes }: KnownVolume, listed: Listed): readonly Broken[] {
  const told = listed.nodes
  if (told === undefined) return []
  const lost = certain(nodes).filter((node) => !told.includes(node))
  const extra = told.filter((node) => !nodes.has(node))
  return [
    ...lost.map(
      (node): Broken => ({
        promise: 'kept',
        about,
        text: `volume ${about} was published to ${node} and is not listed there, without having been unpublished`,
      }),
    ),
    ...extra.map(
      (node): Broken => ({
        promise: 'ended',
        about,
        text: `volume ${about} is listed on ${node}, where it is not published`,
      }),
    ),
  ]
}

function sizeDifference(about: string, capacity: bigint, listed: bigint): readonly Broken[] {
  if (listed === 0n || listed >= capacity) return []
  return [{ promise: 'capacity', about, text: `volume ${about} has ${capacity} bytes and is listed with ${listed}` }]
}
