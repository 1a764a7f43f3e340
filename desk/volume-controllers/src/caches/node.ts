import type { Cached } from '@csi-sidecars/informer'
import type { Node } from '@csi-sidecars/kube-types'
import { identityOf } from './metadata.ts'

/** An entry of `status.volumesAttached` of a node. */
export interface AttachedVolume {
  readonly name: string
  readonly devicePath: string
}

/** A taint of a node. */
export interface Taint {
  readonly key: string
  readonly value: string
  readonly effect: string
}

/** A kubelet sets this annotation of its node if it leaves attach and detach to the controller. */
export const CONTROLLER_MANAGED = 'volumes.kubernetes.io/controller-managed-attach-detach'
export const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service'

/** The cached fields of a Node. */
export interface CachedNode extends Cached {
  readonly labels: Readonly<Record<string, string>>
  /** True if the attach/detach controller attaches the volumes of the node. */
  readonly managed: boolean
  readonly ready: boolean
  readonly unschedulable: boolean
  readonly taints: readonly Taint[]
  /** The volumes that the attach/detach controller reports as attached and safe to mount. */
  readonly volumesAttached: readonly AttachedVolume[]
  /** The volumes that the kubelet reports as in use, or as about to be used. */
  readonly volumesInUse: readonly string[]
}

export function nodeProjection(node: Node): CachedNode {
  const { metadata, spec, status } = node
  return {
    ...identityOf(node),
    labels: metadata?.labels ?? {},
    managed: metadata?.annotations?.[CONTROLLER_MANAGED] === 'true',
    ready: (status?.conditions ?? []).some(({ type, status: is }) => type === 'Ready' && is === 'True'),
    unschedulable: spec?.unschedulable === true,
    taints: (spec?.taints ?? []).map(({ key, value = '', effect }) => ({ key, value, effect })),
    volumesAttached: (status?.volumesAttached ?? []).map(({ name, devicePath }) => ({ name, devicePath })),
    volumesInUse: status?.volumesInUse ?? [],
  }
}

export function isOutOfService({ taints }: Pick<CachedNode, 'taints'>): boolean {
  return taints.some(({ key }) => key === OUT_OF_SERVICE)
}
