import { messageOf } from '@csi-sidecars/base'
import { translateInTreeStorageClassToCSI } from '@csi-sidecars/csi-translation'
import { type Class, projectClass } from '../caches/cluster.ts'
import type { DriverNames } from '../caches/names.ts'
import { ProvisionError } from './failure.ts'
import type { ClaimWakeEvent } from './wake-events.ts'

/** Reports whether the class belongs to the in-tree plugin that is migrated to the driver. */
export function isMigrated({ provisioner }: Class, { inTree }: DriverNames): boolean {
  return inTree !== undefined && provisioner === inTree
}

/** Translates a class of the migrated in-tree plugin to the CSI driver. Returns other classes unchanged. */
export function classForDriver(storageClass: Class, names: DriverNames): Class {
  const { inTree } = names
  if (inTree === undefined || !isMigrated(storageClass, names)) return storageClass
  const { key: name, uid, resourceVersion, provisioner, parameters, allowedTopologies } = storageClass
  try {
    const { mountOptions, reclaimPolicy, waitsForConsumer } = storageClass
    const metadata = { name, uid, resourceVersion }
    const inTreeClass = {
      metadata,
      provisioner,
      parameters: { ...parameters },
      allowedTopologies: [...allowedTopologies],
    }
    const translated = translateInTreeStorageClassToCSI(inTree, inTreeClass)
    return { ...projectClass(translated), mountOptions, reclaimPolicy, waitsForConsumer }
  } catch (cause) {
    const waitsFor: readonly ClaimWakeEvent[] = [{ kind: 'class', name }]
    throw new ProvisionError(`failed to translate storage class: ${messageOf(cause)}`, { cause, waitsFor })
  }
}

/**
 * Throws ProvisionError if a claim of the in-tree plugin names a VolumeAttributesClass. The API server stores such a class
 * only for a volume with a CSI source, so the PersistentVolume could never be stored.
 */
export function checkAttributesClass(attributesClass: string, storageClass: Class, names: DriverNames): void {
  if (attributesClass === '' || !isMigrated(storageClass, names)) return
  const { key, provisioner } = storageClass
  const needed = `the VolumeAttributesClass ${attributesClass} needs a StorageClass of the driver ${names.driver}`
  throw new ProvisionError(`${needed}, but the StorageClass ${key} names the in-tree plugin ${provisioner}`)
}
