import type { SeenCall } from '@csi-sidecars/disturb'
import type { ClusterEvent } from './cluster-event.ts'

/** One printed line of the demo: the component and its action. */
export interface StoryLine {
  readonly who: string
  readonly text: string
}

/** An event that has to happen in a step of the demo. */
export interface Expectation {
  /** The name of the event, which is reported if the event is missing. */
  readonly expected: string
  /** Returns the line to print if this is the expected event. Undefined for any other event. */
  see(event: ClusterEvent): StoryLine | undefined
}

interface Turn<T> {
  readonly who: string
  readonly expected: string
  readonly holds: (object: T) => boolean
  readonly text?: (object: T) => string
}

type EventKind = Exclude<ClusterEvent['kind'], 'call'>
type ObjectOf<K extends EventKind> = NonNullable<Extract<ClusterEvent, { kind: K }>['after']>

/** Expects that `holds` becomes true for an object of this kind, by its creation or by a change. */
export function becomes<K extends EventKind>(kind: K, { who, expected, holds, text }: Turn<ObjectOf<K>>): Expectation {
  return {
    expected,
    see(event) {
      if (event.kind !== kind) return undefined
      const before = event.before as ObjectOf<K> | undefined
      const after = event.after as ObjectOf<K> | undefined
      if (after === undefined || !holds(after) || (before !== undefined && holds(before))) return undefined
      return { who, text: text?.(after) ?? expected }
    },
  }
}

export function deleted<K extends EventKind>(kind: K, { who, expected, holds }: Turn<ObjectOf<K>>): Expectation {
  return {
    expected,
    see(event) {
      if (event.kind !== kind || event.after !== undefined) return undefined
      return holds(event.before as ObjectOf<K>) ? { who, text: expected } : undefined
    },
  }
}

interface Call {
  readonly who: string
  /** Returns the part of the printed line that names the objects of the call. */
  readonly detail: (call: SeenCall) => string
  readonly fits?: (call: SeenCall) => boolean
}

/** Expects a successful call of the method. */
export function call(method: string, { who, detail, fits = () => true }: Call): Expectation {
  return {
    expected: `a successful ${method}`,
    see(event) {
      if (event.kind !== 'call') return undefined
      const { call: seen } = event
      if (seen.method !== method || seen.code !== 0 || !fits(seen)) return undefined
      return { who, text: `${method} ${detail(seen)}, ${duration(seen.tookMs)}` }
    },
  }
}

export function duration(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`
}

/** Shortens a long name to its first characters. */
export function short(name: string): string {
  return name.length > 16 ? `${name.slice(0, 12)}…` : name
}
