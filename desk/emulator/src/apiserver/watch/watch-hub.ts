import { frameBytes, objectBytes } from '../codec/protobuf/envelope.ts'
import { objectText } from '../codec/representation.ts'
import type { ServedKind } from '../schema/kinds.ts'
import { entryOf, type KindCollection, type StoredChange, type StoredEntry } from '../storage/collection.ts'
import type { Predicate } from '../storage/selectors.ts'

export type FrameType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** One watch event. The same change may be ADDED for one watch and MODIFIED for another with a different selector. */
export interface WatchEvent {
  readonly type: FrameType
  readonly revision: number
  /** The object in the event. */
  readonly entry: StoredEntry
  /** Returns the event as JSON. It is created on first use, and all watches share it. */
  readonly frame: () => Buffer
  /** Returns the event as protobuf. It is created on first use, and all watches share it. */
  readonly message: () => Buffer
}

type WatchListener = (event: WatchEvent) => void

interface Watch {
  readonly matches: Predicate
  readonly listener: WatchListener
}

/** Sends each change of the objects of a kind to all watches of the kind. Each event is serialized only once. */
export class WatchHub {
  readonly #watches = new Set<Watch>()
  readonly #kind: ServedKind

  constructor(collection: KindCollection) {
    this.#kind = collection.kind
    collection.subscribe((change) => this.#publish(change))
  }

  add(matches: Predicate, listener: WatchListener): () => void {
    const watch = { matches, listener }
    this.#watches.add(watch)
    return () => this.#watches.delete(watch)
  }

  /** Sends an earlier change to one watch. */
  replay(change: StoredChange, matches: Predicate, listener: WatchListener): void {
    deliver(change, { matches, listener }, eventsOf(this.#kind, change))
  }

  #publish(change: StoredChange): void {
    if (this.#watches.size === 0) return
    const events = eventsOf(this.#kind, change)
    for (const watch of [...this.#watches]) deliver(change, watch, events)
  }
}

type WatchEvents = (type: FrameType) => WatchEvent

function eventsOf(kind: ServedKind, change: StoredChange): WatchEvents {
  const made: Partial<Record<FrameType, WatchEvent>> = {}
  return (type) => {
    made[type] ??= eventOf(kind, change, type)
    return made[type]
  }
}

function eventOf(kind: ServedKind, change: StoredChange, type: FrameType): WatchEvent {
  const { revision } = change
  // If the object no longer matches the selector, the event contains its previous state with the new version.
  const left = type === 'DELETED' && change.type === 'MODIFIED' ? change.before : undefined
  const entry = left === undefined ? change.entry : entryOf(left.key, left.object, revision)
  const frame = once(() => Buffer.from(frameText(type, objectText(kind, entry))))
  const message = once(() => frameBytes(type, objectBytes(kind, entry.object)))
  return { type, revision, entry, frame, message }
}

function once(make: () => Buffer): () => Buffer {
  let made: Buffer | undefined
  return () => {
    made ??= make()
    return made
  }
}

export function frameText(type: FrameType | 'BOOKMARK' | 'ERROR', object: string): string {
  return `{"type":"${type}","object":${object}}\n`
}

/** Sends a change to a watch: ADDED if the object begins to match the selector, DELETED if it no longer matches. */
function deliver(change: StoredChange, { matches, listener }: Watch, events: WatchEvents): void {
  const was = change.before !== undefined && matches(change.before.object)
  const is = change.type !== 'DELETED' && matches(change.entry.object)
  if (was && is) listener(events('MODIFIED'))
  else if (is) listener(events('ADDED'))
  else if (was) listener(events('DELETED'))
}
