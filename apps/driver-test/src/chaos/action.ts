import type { PlannedFault } from './call-faults.ts'

/** One thing that happens to the cluster. */
export type ChaosAction =
  | {
      readonly do: 'createClaim'
      readonly claim: string
      readonly size: number
      readonly shared: boolean
      readonly block?: boolean
      /** The claim whose volume it clones. */
      readonly from?: string
      /** The index of the zone for the volume. */
      readonly zone?: number
    }
  | { readonly do: 'createPod'; readonly pod: string; readonly node: string; readonly claim: string }
  /** A pod with an inline volume, which no claim represents. */
  | { readonly do: 'createInlinePod'; readonly pod: string; readonly node: string }
  | { readonly do: 'deletePod'; readonly pod: string }
  /** The old one is deleted and the new one is created without waiting for that, as a deployment does. */
  | { readonly do: 'movePod'; readonly pod: string; readonly to: string; readonly node: string; readonly claim: string }
  | { readonly do: 'resizeClaim'; readonly claim: string; readonly size: number }
  /**
   * `to` is the index of an accepted class. The index after the last one means the class that the driver must refuse.
   */
  | { readonly do: 'modifyClaim'; readonly claim: string; readonly to: number }
  | { readonly do: 'deleteClaim'; readonly claim: string }
  | { readonly do: 'crashDriver'; readonly forMs: number }
  | ({ readonly do: 'breakCall' } & PlannedFault)
  | { readonly do: 'breakApi'; readonly how: ApiFault }
  | { readonly do: 'restartController'; readonly which: number }
  | { readonly do: 'killSidecar'; readonly which: number }

export type ApiFault = 'conflict' | 'tooMany' | 'internal' | 'lostAnswer' | 'slow' | 'dropWatches' | 'compact' | 'away'

/** Abilities that not every driver has. */
export interface DriverCan {
  readonly expand: boolean
  /** Volumes that several nodes write to. */
  readonly shared: boolean
  readonly block: boolean
  readonly clone?: boolean
  /** Volumes that pods declare themselves. */
  readonly inline?: boolean
  /** Nodes that reach the same volumes; without it all do. */
  readonly zones?: readonly Zone[]
  /** Accepted parameters of VolumeAttributesClasses. Without them volumes are not modified. */
  readonly attributes?: readonly Readonly<Record<string, string>>[]
  /** It may be ended and started again. */
  readonly crash: boolean
  /** Its calls, by name. */
  readonly methods: readonly string[]
}

/** A part of the cluster, in the driver's terms and by the names of its nodes. */
export interface Zone {
  readonly nodes: readonly string[]
  readonly segments: Readonly<Record<string, string>>
}
