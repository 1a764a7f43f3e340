import { type Change, type Collection, type Entry, entryOf } from './collection.ts'
import type { Kind } from './kinds.ts'
import { objectText } from './representation.ts'
import type { Predicate } from './selectors.ts'

export type FrameType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** What a change means to one watch. */
export interface Sighting {
  readonly type: FrameType
  readonly revision: number
  /** The object to show. */
  readonly entry: Entry
  /** The frame with the plain object: made only when somebody asks, and shared by all who do. */
  readonly frame: () => Buffer
}

export type Sink = (sighting: Sighting) => void

/** Hands each change of a collection to all its watches, and serialises it once for all of them. */
export class WatchHub {
  readonly #watches = new Set<{ readonly matches: Predicate; readonly sink: Sink }>()
  readonly #kind: Kind

  constructor(collection: Collection) {
    this.#kind = collection.kind
    collection.subscribe((change) => this.#publish(change))
  }

  add(matches: Predicate, sink: Sink): () => void {
    const watch = { matches, sink }
    this.#watches.add(watch)
    return () => this.#watches.delete(watch)
  }

  /** Plays a change of the past to one watch. */
  replay(change: Change, matches: Predicate, sink: Sink): void {
    deliver(change, matches, sink, sightingsOf(this.#kind, change))
  }

  #publish(change: Change): void {
    if (this.#watches.size === 0) return
    const sightings = sightingsOf(this.#kind, change)
    for (const { matches, sink } of [...this.#watches]) deliver(change, matches, sink, sightings)
  }
}

type Sightings = (type: FrameType) => Sighting

function sightingsOf(kind: Kind, change: Change): Sightings {
  const made: Partial<Record<FrameType, Sighting>> = {}
  return (type) => {
    made[type] ??= sightingOf(kind, change, type)
    return made[type]
  }
}

function sightingOf(kind: Kind, change: Change, type: FrameType): Sighting {
  const { revision } = change
  // What leaves a view is shown as it was last seen there, under the version of the change.
  const left = type === 'DELETED' && change.type === 'MODIFIED' ? change.before : undefined
  const entry = left === undefined ? change.entry : entryOf(left.key, left.object, revision)
  let made: Buffer | undefined
  const frame = (): Buffer => {
    made ??= Buffer.from(frameText(type, objectText(kind, entry)))
    return made
  }
  return { type, revision, entry, frame }
}

export function frameText(type: FrameType | 'BOOKMARK' | 'ERROR', object: string): string {
  return `{"type":"${type}","object":${object}}\n`
}

/** One that leaves the view of a watch is deleted there, one that enters is added. */
function deliver(change: Change, matches: Predicate, sink: Sink, sightings: Sightings): void {
  const was = change.before !== undefined && matches(change.before.object)
  const is = change.type !== 'DELETED' && matches(change.entry.object)
  if (!was && !is) return
  sink(sightings(was && is ? 'MODIFIED' : is ? 'ADDED' : 'DELETED'))
}
