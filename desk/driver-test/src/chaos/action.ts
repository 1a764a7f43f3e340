import type { PlannedFault } from './call-faults.ts'

/** One random action of the driver test: a request of a user, or a fault. */
export type ChaosAction =
  | {
      readonly kind: 'createClaim'
      readonly claim: string
      readonly size: number
      readonly shared: boolean
      readonly block?: boolean
      /** The claim whose volume is cloned, or the snapshot that is restored. */
      readonly from?: string
      /** True if `from` is a snapshot. */
      readonly restores?: boolean
      /** The index of the zone in which the volume is created. */
      readonly zone?: number
    }
  | { readonly kind: 'createPod'; readonly pod: string; readonly node: string; readonly claim: string }
  /** Creates a pod with an inline volume, for which no claim exists. */
  | { readonly kind: 'createInlinePod'; readonly pod: string; readonly node: string }
  | { readonly kind: 'deletePod'; readonly pod: string }
  /** Deletes a pod, and creates its successor `to` without waiting for the deletion, as a Deployment does. */
  | {
      readonly kind: 'movePod'
      readonly pod: string
      readonly to: string
      readonly node: string
      readonly claim: string
    }
  | { readonly kind: 'resizeClaim'; readonly claim: string; readonly size: number }
  /**
   * `to` is the index of a VolumeAttributesClass. The driver must refuse the class with the last index, and accept all
   * other classes.
   */
  | { readonly kind: 'modifyClaim'; readonly claim: string; readonly to: number }
  | { readonly kind: 'deleteClaim'; readonly claim: string }
  | { readonly kind: 'createSnapshot'; readonly snapshot: string; readonly claim: string }
  | { readonly kind: 'deleteSnapshot'; readonly snapshot: string }
  | { readonly kind: 'crashDriver'; readonly forMs: number }
  | PlannedFault
  | { readonly kind: 'breakApi'; readonly how: ApiFault }
  | { readonly kind: 'restartController'; readonly which: number }
  | { readonly kind: 'killSidecar'; readonly which: number }

export type ApiFault = 'conflict' | 'tooMany' | 'internal' | 'lostAnswer' | 'slow' | 'dropWatches' | 'compact' | 'away'

/** The abilities of the driver under test that not every driver has. */
export interface DriverCan {
  readonly expand: boolean
  /** True if the driver creates volumes with the access mode ReadWriteMany. */
  readonly shared: boolean
  readonly block: boolean
  readonly clone?: boolean
  readonly snapshots?: boolean
  /** True if the driver supports inline volumes of pods. */
  readonly inline?: boolean
  /** The groups of nodes that can use the same volumes. Undefined: all nodes are one group. */
  readonly zones?: readonly Zone[]
  /** The parameters of VolumeAttributesClasses that the driver accepts. Undefined: volumes are not modified. */
  readonly attributes?: readonly Readonly<Record<string, string>>[]
  /** True if the test may kill the driver and start it again. */
  readonly crash: boolean
  /** The CSI methods of the driver, without those for snapshots. */
  readonly methods: readonly string[]
}

/** A group of nodes with the same topology: their names in the cluster, and the topology segments of the driver. */
export interface Zone {
  readonly nodes: readonly string[]
  readonly segments: Readonly<Record<string, string>>
}
