import { type Cached, type InformerEvent, Interner } from '@csi-sidecars/informer'
import type { CSINode, Node, StorageClass, TopologySelectorTerm, VolumeAttachment } from '@csi-sidecars/kube-types'

/** The cached part of a StorageClass. */
export interface Class extends Cached {
  readonly provisioner: string
  readonly parameters: Readonly<Record<string, string>>
  readonly reclaimPolicy: string | undefined
  readonly mountOptions: readonly string[]
  readonly waitsForConsumer: boolean
  readonly allowedTopologies: readonly TopologySelectorTerm[]
}

/** The cached part of a VolumeAttachment. */
export interface ProvisionerAttachment extends Cached {
  readonly volume: string
  readonly node: string
}

/** A node of which only the topology labels are cached. */
export interface ProvisionerNode extends Cached {
  readonly labels: Readonly<Record<string, string>>
}

/** The cached part of a CSINode: the registration of this driver on the node. */
export interface Registration extends Cached {
  /** The topology keys of the driver. Undefined without a registration on the node. */
  readonly topologyKeys: readonly string[] | undefined
}

export function projectClass(storageClass: StorageClass): Class {
  const { metadata = {}, provisioner, parameters, reclaimPolicy, mountOptions, allowedTopologies } = storageClass
  return {
    key: metadata.name ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    uid: metadata.uid ?? '',
    provisioner,
    parameters: parameters ?? {},
    reclaimPolicy: reclaimPolicy ?? undefined,
    mountOptions: mountOptions ?? [],
    waitsForConsumer: storageClass.volumeBindingMode === 'WaitForFirstConsumer',
    allowedTopologies: allowedTopologies ?? [],
  }
}

/** Returns undefined for an attachment of an inline volume, so that the cache does not keep it. */
export function projectAttachment(va: VolumeAttachment, intern = new Interner()): ProvisionerAttachment | undefined {
  const volume = va.spec.source.persistentVolumeName
  if (volume == null) return undefined
  const { name = '', resourceVersion = '', uid = '' } = va.metadata ?? {}
  return { key: name, resourceVersion, uid, volume, node: intern.text(va.spec.nodeName) }
}

export function projectNode({ metadata = {} }: Node, intern = new Interner()): ProvisionerNode {
  const { name = '', resourceVersion = '', uid = '' } = metadata
  const labels: Record<string, string> = {}
  for (const [key, value] of Object.entries(metadata.labels ?? {})) labels[key] = intern.text(value)
  return { key: name, resourceVersion, uid, labels }
}

export function registrationProjection(driverName: string): (node: CSINode, intern?: Interner) => Registration {
  return ({ metadata = {}, spec }, intern = new Interner()) => {
    const { name = '', resourceVersion = '', uid = '' } = metadata
    const registered = spec.drivers?.find((each) => each.name === driverName)
    const topologyKeys = registered && (intern.list(registered.topologyKeys) ?? [])
    return { key: name, resourceVersion, uid, topologyKeys }
  }
}

export function changesLabels(event: InformerEvent<ProvisionerNode>): boolean {
  if (event.type !== 'updated') return true
  const [before, after] = [event.before.labels, event.after.labels]
  const keys = Object.keys(after)
  return keys.length !== Object.keys(before).length || keys.some((key) => before[key] !== after[key])
}

export function changesKeys(event: InformerEvent<Registration>): boolean {
  if (event.type !== 'updated') return true
  return event.before.topologyKeys?.join() !== event.after.topologyKeys?.join()
}
