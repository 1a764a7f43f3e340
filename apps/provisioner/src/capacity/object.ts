import { type Cached, Interner } from '@csi-sidecars/informer'
import { type CSIStorageCapacity, Quantity } from '@csi-sidecars/kube-types'
import { type CapacityItem, itemKey } from './items.ts'

export const DRIVER_LABEL = 'csi.storage.k8s.io/drivername'
export const MANAGER_LABEL = 'csi.storage.k8s.io/managed-by'

/** The owner of the CSIStorageCapacity objects. Kubernetes deletes the objects together with their owner. */
export interface Owner {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
}

/** Who publishes storage capacity: the labels and the owner of its objects. */
export interface Manager {
  readonly driverName: string
  readonly managedBy: string
  readonly owner: Owner | undefined
}

/** The flags of the capacity publication. */
export interface CapacitySettings extends Manager {
  readonly namespace: string
  /** The number of workers that publish capacity. */
  readonly threads: number
  readonly pollMs: number
  /** True if classes with immediate binding get CSIStorageCapacity objects, too. */
  readonly immediate: boolean
  /** The rate limits for writes of CSIStorageCapacity objects. Undefined if no flag sets them. */
  readonly limits: { readonly qps: number; readonly burst: number } | undefined
}

/** The cached part of a CSIStorageCapacity object with the `managed-by` label of this process. */
export interface CapacityObject extends Cached {
  /** The key of the StorageClass and the topology segment that the object is for. */
  readonly itemKey: string
  readonly capacity: string | undefined
  readonly maximum: string | undefined
  readonly isOwned: boolean
}

/** The answer of the driver to GetCapacity, in bytes. */
export interface Capacity {
  readonly available: bigint
  readonly maximum: bigint | undefined
}

/** Caches only objects with the driver and `managed-by` labels of this process. */
export function capacityProjection(
  manager: Manager,
): (object: CSIStorageCapacity, intern?: Interner) => CapacityObject | undefined {
  return ({ metadata = {}, storageClassName, nodeTopology, capacity, maximumVolumeSize }, intern = new Interner()) => {
    const { namespace = '', name = '', resourceVersion = '', uid = '', labels } = metadata
    if (labels?.[DRIVER_LABEL] !== manager.driverName || labels[MANAGER_LABEL] !== manager.managedBy) return undefined
    const isOurs = nodeTopology != null && (nodeTopology.matchExpressions ?? []).length === 0
    return {
      key: `${namespace}/${name}`,
      resourceVersion,
      uid,
      // Provisioners write only `matchLabels`. An object with another selector counts as needless, and is deleted.
      itemKey: isOurs ? itemKey(storageClassName, nodeTopology.matchLabels ?? {}) : `of another kind: ${name}`,
      capacity: intern.text(capacity),
      maximum: intern.text(maximumVolumeSize),
      isOwned: isOwned(metadata.ownerReferences, manager.owner),
    }
  }
}

type OwnerReferences = NonNullable<CSIStorageCapacity['metadata']>['ownerReferences']

function isOwned(references: OwnerReferences, owner: Owner | undefined): boolean {
  return (
    owner === undefined || references?.some(({ controller, uid }) => controller === true && uid === owner.uid) === true
  )
}

export function isUpToDate({ capacity, maximum, isOwned }: CapacityObject, answer: Capacity): boolean {
  return isOwned && bytesOf(capacity) === answer.available && bytesOf(maximum) === answer.maximum
}

function bytesOf(text: string | undefined): bigint | undefined {
  return text === undefined ? undefined : Quantity.tryParse(text)?.bytes()
}

export function newCapacityObject(
  item: CapacityItem,
  answer: Capacity,
  manager: Manager & { readonly namespace: string },
): CSIStorageCapacity {
  const { driverName, managedBy, namespace, owner } = manager
  return {
    metadata: {
      generateName: 'csisc-',
      namespace,
      labels: { [DRIVER_LABEL]: driverName, [MANAGER_LABEL]: managedBy },
      ...(owner && { ownerReferences: [ownerReference(owner)] }),
    },
    storageClassName: item.className,
    nodeTopology: { matchLabels: { ...item.segments } },
    ...sizeFields(answer),
  }
}

export function updatedCapacityObject(
  stored: CSIStorageCapacity,
  answer: Capacity,
  { owner }: Manager,
): CSIStorageCapacity {
  const { capacity: _old, maximumVolumeSize: _oldMaximum, ...rest } = stored
  const references = stored.metadata?.ownerReferences ?? []
  const owners = owner === undefined || isOwned(references, owner) ? references : [...references, ownerReference(owner)]
  return { ...rest, metadata: { ...stored.metadata, ownerReferences: owners }, ...sizeFields(answer) }
}

function sizeFields({ available, maximum }: Capacity): Pick<CSIStorageCapacity, 'capacity' | 'maximumVolumeSize'> {
  const text = (bytes: bigint): string => Quantity.ofBytes(bytes).toString()
  return { capacity: text(available), ...(maximum !== undefined && { maximumVolumeSize: text(maximum) }) }
}

function ownerReference(owner: Owner): Owner & { readonly controller: true } {
  return { ...owner, controller: true }
}
