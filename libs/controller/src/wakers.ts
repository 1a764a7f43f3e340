import type { Reason } from '@csi-sidecars/waits'
import type { Source } from './sources.ts'

/** One kind of wake event: its texts in reports about waiting keys, and the source that reports it. */
export interface Waker<K extends string> {
  /** The kind of the awaited object, in the words of Kubernetes. */
  readonly object: string
  /** The reason in reports, if no obstacle is known. */
  readonly reason: Reason
  /** Wakes the keys that wait for events of this kind. A source that several kinds share starts once. */
  readonly source: Source<K>
}

/** The wakers of a controller: one for each kind of event that its keys wait for. */
export type Wakers<K extends string> = { readonly [Kind in K]: Waker<Kind> }
