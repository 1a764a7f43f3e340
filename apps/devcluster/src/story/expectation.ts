import type { SeenCall } from '@csi-sidecars/disturb'
import type { ClusterEvent } from './cluster-event.ts'

/** One line of the story: which component did it, and what. */
export interface StoryLine {
  readonly who: string
  readonly text: string
}

/** Something that has to happen in a step. */
export interface Expectation {
  /** The missing event, for the report. */
  readonly what: string
  /** The line for the event that fulfils it; undefined for any other. */
  see(event: ClusterEvent): StoryLine | undefined
}

interface Turn<T> {
  readonly who: string
  readonly what: string
  readonly holds: (object: T) => boolean
  readonly text?: (object: T) => string
}

type Is = Exclude<ClusterEvent['is'], 'call'>
type ObjectOf<K extends Is> = NonNullable<Extract<ClusterEvent, { is: K }>['after']>

/** It holds for an object of the kind, and did not before. */
export function becomes<K extends Is>(is: K, { who, what, holds, text }: Turn<ObjectOf<K>>): Expectation {
  return {
    what,
    see(event) {
      if (event.is !== is) return undefined
      const before = event.before as ObjectOf<K> | undefined
      const after = event.after as ObjectOf<K> | undefined
      if (after === undefined || !holds(after) || (before !== undefined && holds(before))) return undefined
      return { who, text: text?.(after) ?? what }
    },
  }
}

export function deleted<K extends Is>(is: K, { who, what, holds }: Turn<ObjectOf<K>>): Expectation {
  return {
    what,
    see(event) {
      if (event.is !== is || event.after !== undefined) return undefined
      return holds(event.before as ObjectOf<K>) ? { who, text: what } : undefined
    },
  }
}

interface Call {
  readonly who: string
  /** The objects of the call. */
  readonly detail: (call: SeenCall) => string
  readonly fits?: (call: SeenCall) => boolean
}

/** A call that the driver answered well. */
export function call(method: string, { who, detail, fits = () => true }: Call): Expectation {
  return {
    what: `a successful ${method}`,
    see(event) {
      if (event.is !== 'call') return undefined
      const { call: seen } = event
      if (seen.method !== method || seen.code !== 0 || !fits(seen)) return undefined
      return { who, text: `${method} ${detail(seen)}, ${duration(seen.tookMs)}` }
    },
  }
}

export function duration(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`
}

/** Long names are shortened to their beginning. */
export function short(name: string): string {
  return name.length > 16 ? `${name.slice(0, 12)}…` : name
}
