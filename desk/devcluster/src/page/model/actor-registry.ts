import type { Actor, Message, Wait } from '../view/wire.ts'
import { ACTORS } from './actors.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }
type Entry = Mutable<Omit<Actor, 'kind' | 'id' | 'state' | 'why'>> & {
  /** The reason why the actor itself fails. `troubles` counts the failures of the rows that wait for the actor. */
  why?: { readonly away: boolean; readonly text: string } | undefined
}

const KUBELET = 'kubelet/'

/** The current work of each actor. An actor is a component that acts on volumes, such as the csi-attacher. */
export class ActorRegistry {
  readonly #entries = new Map<string, Entry>()

  /** Adds the actors that every cluster has, and a kubelet for each node. */
  constructor(nodes: readonly string[]) {
    for (const id of [...Object.keys(ACTORS), ...nodes.map((node) => KUBELET + node)]) this.#entry(id)
  }

  get ids(): Iterable<string> {
    return this.#entries.keys()
  }

  has(id: string): boolean {
    return this.#entries.has(id)
  }

  says(id: string, last: Message): void {
    this.#entry(id).last = last
  }

  /** Adds `change` to the number of running CSI calls of the actor. */
  calls(id: string, change: 1 | -1): void {
    this.#entry(id).open += change
  }

  /** Replaces the old waits of a row by its new waits in the counts of the actors. Returns the IDs of these actors. */
  waits(before: readonly Wait[], after: readonly Wait[]): readonly string[] {
    for (const wait of before) this.#count(wait, -1)
    for (const wait of after) this.#count(wait, 1)
    return [...new Set([...before, ...after].map(({ who }) => who))]
  }

  because(id: string, why: Entry['why']): void {
    this.#entry(id).why = why
  }

  actor(id: string): Actor {
    const { why, ...entry } = this.#entry(id)
    return {
      kind: 'actor',
      id,
      ...entry,
      state: stateOf({ why, ...entry }),
      ...(why !== undefined && { why: why.text }),
    }
  }

  #count({ who, level, stuck }: Wait, change: 1 | -1): void {
    const entry = this.#entry(who)
    entry.turns += change
    if (level === 'trouble' || stuck) entry.troubles += change
  }

  #entry(id: string): Entry {
    const existing = this.#entries.get(id)
    if (existing !== undefined) return existing
    const made: Entry = { ...whoIs(id), open: 0, turns: 0, troubles: 0 }
    this.#entries.set(id, made)
    return made
  }
}

function whoIs(id: string): { readonly name: string; readonly does: string } {
  if (Object.hasOwn(ACTORS, id)) return ACTORS[id as keyof typeof ACTORS]
  const node = id.startsWith(KUBELET) ? id.slice(KUBELET.length) : ''
  return node === ''
    ? { name: id, does: 'sends events' }
    : { name: `kubelet ${node}`, does: 'mounts volumes into pods' }
}

function stateOf({ why, troubles, turns, open }: Entry): Actor['state'] {
  if (why !== undefined) return why.away ? 'away' : 'fails'
  if (troubles > 0) return 'fails'
  return turns > 0 || open > 0 ? 'works' : 'idle'
}
