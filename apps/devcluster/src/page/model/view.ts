import type { EventText } from '@csi-sidecars/events'
import type { Attachment, CachedNode, CachedPod, Claim, Volume } from '@csi-sidecars/volume-controllers'
import type { Remedy } from '@csi-sidecars/waits'
import type { Wait } from '../view/wire.ts'
import type { Failure } from './call-log.ts'

/** The input of one row, at one moment. */
export interface RowView {
  /** The name of the row's claim, even if the claim does not exist. */
  readonly claimKey: string | undefined
  readonly claim: Claim | undefined
  readonly volume: Volume | undefined
  readonly attachments: readonly Attachment[]
  readonly pods: readonly CachedPod[]
  /** The message of the PV controller about an unbound claim. */
  readonly binding: EventText | undefined
  /** The volume's driver has an attach. */
  readonly attaches: boolean
  readonly node: (name: string) => CachedNode | undefined
  /** The error of the actor's calls for this volume. */
  readonly failure: (who: string, ...methods: readonly string[]) => Failure | undefined
  /** The last warning about a pod with one of these reasons. */
  readonly warning: (podKey: string, ...reasons: readonly string[]) => string | undefined
}

/** A wait without its beginning, which the page's model knows. */
export interface WaitNow extends Omit<Wait, 'since' | 'stuck'> {
  readonly remedy: Remedy
}
