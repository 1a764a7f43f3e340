/** A volume or snapshot of the last listing, and the first of the consecutive listings in which it was seen. */
export interface SightedThing<T> {
  readonly thing: T
  /** The number of the first listing. Listings are numbered from 1. */
  readonly firstListing: number
  /** When the first listing began, in milliseconds since 1970. */
  readonly since: number
}

/** The things that one listing has found so far. A listing that fails is never ended. */
export interface SightingsOfListing<T> {
  readonly add: (id: string, thing: T) => void
  readonly remove: (id: string) => void
  /** Replaces the remembered things by those of this listing. */
  readonly end: () => void
}

/**
 * The things without an object in consecutive listings. One listing proves nothing: the object may have been stored or
 * deleted while the listing ran.
 *
 * Guarantees: a thing is confirmed only if two consecutive listings have it. At most `max` things are remembered.
 */
export class Sightings<T> {
  readonly #max: number
  #sightings: ReadonlyMap<string, SightedThing<T>> = new Map()
  #listing = 0
  #omitted = 0

  constructor(max: number) {
    this.#max = max
  }

  /** The number of complete listings. */
  get listing(): number {
    return this.#listing
  }

  /** The number of things in the last listing that are not remembered. */
  get omitted(): number {
    return this.#omitted
  }

  /** Begins a listing. The things count only if `end` is called. */
  begin(now: number): SightingsOfListing<T> {
    const next = new Map<string, SightedThing<T>>()
    const listing = this.#listing + 1
    let omitted = 0
    /** The known things that this listing has not shown yet. Their places are kept. */
    let expected = this.#sightings.size
    return {
      add: (id, thing) => {
        if (next.has(id)) return
        const sighting = this.#sightings.get(id)
        if (sighting !== undefined) expected -= 1
        else if (next.size + expected >= this.#max) {
          omitted += 1
          return
        }
        next.set(id, { thing, firstListing: sighting?.firstListing ?? listing, since: sighting?.since ?? now })
      },
      remove: (id) => next.delete(id),
      end: () => {
        this.#sightings = next
        this.#listing = listing
        this.#omitted = omitted
      },
    }
  }

  /** Returns the things that the last listing and the listing before had. */
  *seenTwice(): Generator<SightedThing<T>> {
    for (const sighting of this.#sightings.values()) {
      if (sighting.firstListing < this.#listing) yield sighting
    }
  }
}
