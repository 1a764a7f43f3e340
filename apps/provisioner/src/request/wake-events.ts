import type { WakeEvent } from '@csi-sidecars/controller'

/** The kinds of objects that claims wait for and that are not cached: roles of provisioners cannot watch them all. */
export type AwaitedKind = 'secret' | 'snapshot' | 'snapshotContent' | 'attributesClass'

/**
 * The events that claims wait for: a change of an object that their volume needs. `node` is the node of a claim, `nodes`
 * is any node of the cluster.
 */
export type ClaimWakeKind = 'class' | 'volume' | 'claim' | 'node' | 'nodes' | AwaitedKind

export type ClaimWakeEvent<K extends ClaimWakeKind = ClaimWakeKind> = WakeEvent<K>
