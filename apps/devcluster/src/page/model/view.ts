import type { EventText } from '@csi-sidecars/events'
import type { Attachment, CachedNode, CachedPod, Claim, Volume } from '@csi-sidecars/volume-controllers'
import type { Remedy } from '@csi-sidecars/waits'
import type { Wait } from '../view/wire.ts'
import type { Failure } from './call-log.ts'

/** The input of one row, at one moment. */
export interface RowView {
  /** Of the claim that the row is about, be it there or not. */
  readonly claimKey: string | undefined
  readonly claim: Claim | undefined
  readonly volume: Volume | undefined
  readonly attachments: readonly Attachment[]
  readonly pods: readonly CachedPod[]
  /** What the PV controller says of a claim that is not bound. */
  readonly binding: EventText | undefined
  /** The volume's driver has an attach. */
  readonly attaches: boolean
  readonly node: (name: string) => CachedNode | undefined
  /** What the actor's calls for this volume fail with. */
  readonly failure: (who: string, ...methods: readonly string[]) => Failure | undefined
  /** The last warning about a pod with one of these reasons. */
  readonly warning: (podKey: string, ...reasons: readonly string[]) => string | undefined
}

/** A wait without its beginning, which the page's model knows. */
export interface WaitNow extends Omit<Wait, 'since' | 'stuck'> {
  readonly remedy: Remedy
}
