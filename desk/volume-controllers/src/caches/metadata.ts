import type { Cached } from '@csi-sidecars/informer'
import type { KubeObject } from '@csi-sidecars/kube-types'

/** The annotations and finalizers with which the components of Kubernetes coordinate work on volumes. */

/** On a claim: the claim was bound once. If it loses its volume later, its phase becomes Lost. */
export const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed'
/** On a claim or a volume: the controller, not the user, has written the reference to the other object. */
export const BOUND_BY_CONTROLLER = 'pv.kubernetes.io/bound-by-controller'
/** On a claim: the node that must be able to reach the new volume. */
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node'
/** On a claim: the name of its provisioner. The second constant is the old spelling, which provisioners still read. */
export const STORAGE_PROVISIONER = 'volume.kubernetes.io/storage-provisioner'
export const BETA_STORAGE_PROVISIONER = 'volume.beta.kubernetes.io/storage-provisioner'
/** On a volume: the provisioner that created the volume and deletes it. */
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by'
/** On a volume: its capacity before the running expansion, which is still the size of the file system. */
export const PRE_RESIZE_CAPACITY = 'volume.alpha.kubernetes.io/pre-resize-capacity'
/** On a claim: the driver needs no expansion on the node. */
export const NODE_EXPANSION_NOT_REQUIRED = 'volume.kubernetes.io/node-expansion-not-required'
/** On a class: this class is the default for claims that name no class. */
export const IS_DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class'

export const CLAIM_PROTECTION = 'kubernetes.io/pvc-protection'
export const VOLUME_PROTECTION = 'kubernetes.io/pv-protection'

const KEPT: readonly string[] = [
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
  BETA_STORAGE_PROVISIONER,
  PROVISIONED_BY,
  PRE_RESIZE_CAPACITY,
  NODE_EXPANSION_NOT_REQUIRED,
]

export type Annotations = Readonly<Record<string, string>>

/** Returns only the annotations that the controllers read. */
export function keptAnnotations(annotations: Annotations | undefined): Annotations {
  const kept: Record<string, string> = {}
  for (const name of KEPT) {
    const value = annotations?.[name]
    if (value !== undefined) kept[name] = value
  }
  return kept
}

/** Returns the fields that all cached objects have: key, resource version and UID. */
export function identityOf({ metadata }: KubeObject): Cached {
  const { namespace, name = '', resourceVersion = '', uid = '' } = metadata ?? {}
  return { key: namespace ? `${namespace}/${name}` : name, resourceVersion, uid }
}
