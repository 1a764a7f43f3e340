import type { Attachment } from '../caches/attachment.ts'
import type { Claim } from '../caches/claim.ts'
import type { CachedNode } from '../caches/node.ts'
import type { CachedPod } from '../caches/pod.ts'
import type { Volume } from '../caches/volume.ts'
import type { SeenCall } from '../calls/seen.ts'
import type { ClusterEvent } from './cluster-event.ts'

/** One line of the story: which component did it, and what. */
export interface StoryLine {
  readonly who: string
  readonly text: string
}

/** Something that has to happen in a step. */
export interface Expectation {
  /** What is missing when it has not. */
  readonly what: string
  /** The line for the event that fulfils it; undefined for any other. */
  see(event: ClusterEvent): StoryLine | undefined
}

interface Turns<T> {
  readonly who: string
  readonly what: string
  /** Holds now and did not before. */
  readonly holds: (object: T) => boolean
  readonly text?: (object: T) => string
}

type Is = Exclude<ClusterEvent['is'], 'call'>
type ObjectOf<K extends Is> = NonNullable<Extract<ClusterEvent, { is: K }>['after']>

function turns<K extends Is>(is: K, { who, what, holds, text }: Turns<ObjectOf<K>>): Expectation {
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

function deletion<K extends Is>(is: K, { who, what, holds }: Turns<ObjectOf<K>>): Expectation {
  return {
    what,
    see(event) {
      if (event.is !== is || event.after !== undefined) return undefined
      return holds(event.before as ObjectOf<K>) ? { who, text: what } : undefined
    },
  }
}

export const claim = (turn: Turns<Claim>): Expectation => turns('claim', turn)
export const claimDeleted = (turn: Turns<Claim>): Expectation => deletion('claim', turn)
export const volume = (turn: Turns<Volume>): Expectation => turns('volume', turn)
export const volumeDeleted = (turn: Turns<Volume>): Expectation => deletion('volume', turn)
export const pod = (turn: Turns<CachedPod>): Expectation => turns('pod', turn)
export const podDeleted = (turn: Turns<CachedPod>): Expectation => deletion('pod', turn)
export const attachment = (turn: Turns<Attachment>): Expectation => turns('attachment', turn)
export const attachmentDeleted = (turn: Turns<Attachment>): Expectation => deletion('attachment', turn)
export const node = (turn: Turns<CachedNode>): Expectation => turns('node', turn)

/** A call that the driver answered well. */
export function call(
  method: string,
  {
    who,
    detail,
    fits = () => true,
  }: {
    readonly who: string
    /** What it was about. */
    readonly detail: (call: SeenCall) => string
    readonly fits?: (call: SeenCall) => boolean
  },
): Expectation {
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
