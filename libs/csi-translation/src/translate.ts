import type { PersistentVolume, StorageClass, Volume } from '@csi-sidecars/kube-types'
import { awsEbs } from './plugins/aws-ebs.ts'
import { azureDisk } from './plugins/azure-disk.ts'
import { azureFile } from './plugins/azure-file.ts'
import { cinder } from './plugins/cinder.ts'
import { gcePd } from './plugins/gce-pd.ts'
import { portworxVolume } from './plugins/portworx-volume.ts'
import { vsphereVolume } from './plugins/vsphere-volume.ts'
import { quoted } from './rules/go-text.ts'
import type { InTreePlugin } from './rules/plugin.ts'
import { TranslationError } from './rules/translation-error.ts'

/** The in-tree plugins. Their order matters only for a volume with two sources, which the API refuses. */
export const PLUGINS: readonly InTreePlugin[] = [
  awsEbs,
  gcePd,
  cinder,
  azureDisk,
  azureFile,
  vsphereVolume,
  portworxVolume,
]

const BY_DRIVER = new Map(PLUGINS.map((plugin) => [plugin.driverName, plugin]))
const BY_IN_TREE_NAME = new Map(PLUGINS.map((plugin) => [plugin.inTreeName, plugin]))

function pluginByDriver(driverName: string): InTreePlugin | undefined {
  return BY_DRIVER.get(driverName)
}

function pluginByInTreeName(inTreeName: string): InTreePlugin | undefined {
  return BY_IN_TREE_NAME.get(inTreeName)
}

/** An argument that may be missing, because a look-up may find nothing and JSON contains nulls. */
type Maybe<T> = T | null | undefined

/** Reports whether the CSI driver replaces an in-tree plugin. */
export function isMigratedCSIDriverByName(driverName: string): boolean {
  return pluginByDriver(driverName) !== undefined
}

export function isMigratableInTreePluginByName(inTreeName: string): boolean {
  return pluginByInTreeName(inTreeName) !== undefined
}

/** Reports whether the volume has an in-tree source that a CSI driver serves. A CSI volume is not migratable. */
export function isPVMigratable(pv: Maybe<PersistentVolume>): boolean {
  return pv != null && PLUGINS.some((plugin) => plugin.ownsVolume(pv))
}

export function isInlineMigratable(volume: Maybe<Volume>): boolean {
  return volume != null && PLUGINS.some((plugin) => plugin.ownsInline(volume))
}

/** Translates a volume for its CSI driver. Fields that have nothing to do with migration stay. */
export function translateInTreePVToCSI(pv: Maybe<PersistentVolume>): PersistentVolume {
  if (pv == null) throw new TranslationError('NIL_OBJECT', 'persistent volume was nil')
  return firstOf((plugin) => plugin.volumeToCsi(pv)) ?? noLogic(quoted(pv.metadata?.name ?? ''))
}

/** Translates a volume of a pod into a PersistentVolume, which does not exist in the API. */
export function translateInTreeInlineVolumeToCSI(volume: Maybe<Volume>, podNamespace: string): PersistentVolume {
  if (volume == null) throw new TranslationError('NIL_OBJECT', 'persistent volume was nil')
  return firstOf((plugin) => plugin.inlineToCsi(volume, podNamespace)) ?? noLogic(quoted(volume.name ?? ''))
}

/** Translates a volume of a CSI driver back into a volume of the in-tree plugin. */
export function translateCSIPVToInTree(pv: Maybe<PersistentVolume>): PersistentVolume {
  const csi = pv?.spec?.csi
  if (pv == null || csi == null) throw new TranslationError('NIL_OBJECT', 'CSI persistent volume was nil')
  return pluginByDriver(csi.driver)?.volumeToInTree(csi, pv) ?? noLogic(csi.driver)
}

export function translateInTreeStorageClassToCSI(inTreeName: string, storageClass: Maybe<StorageClass>): StorageClass {
  const plugin = pluginByInTreeName(inTreeName)
  if (plugin === undefined) {
    throw new TranslationError(
      'NO_TRANSLATION_LOGIC',
      `could not find in-tree storage class parameter translation logic for ${quoted(inTreeName)}`,
    )
  }
  if (storageClass == null) throw new TranslationError('NIL_OBJECT', 'sc is nil')
  return plugin.classToCsi(storageClass)
}

/** Completes a volume handle with parts of a node ID. Only handles of GCE can lack parts. */
export function repairVolumeHandle(driverName: string, volumeHandle: string, nodeId: string): string {
  return knownDriver(driverName).repairHandle(volumeHandle, nodeId)
}

export function csiNameFromInTreeName(inTreeName: string): string {
  const plugin = pluginByInTreeName(inTreeName)
  if (plugin !== undefined) return plugin.driverName
  throw new TranslationError('UNKNOWN_NAME', `could not find CSI Driver name for plugin ${inTreeName}`)
}

export function inTreeNameFromCSIName(driverName: string): string {
  return knownDriver(driverName).inTreeName
}

/** Returns the name of the in-tree plugin of a PersistentVolume, or of the volume in a pod if `pv` is missing. */
export function inTreePluginNameFromSpec(pv: Maybe<PersistentVolume>, volume: Maybe<Volume>): string {
  if (pv != null) {
    const plugin = PLUGINS.find((each) => each.ownsVolume(pv))
    return plugin?.inTreeName ?? noName(`persistent volume ${pv.metadata?.name ?? ''}`)
  }
  if (volume != null) {
    const plugin = PLUGINS.find((each) => each.ownsInline(volume))
    return plugin?.inTreeName ?? noName(`volume ${volume.name ?? ''}`)
  }
  throw new TranslationError('NIL_OBJECT', 'both persistent volume and volume are nil')
}

function knownDriver(driverName: string): InTreePlugin {
  const plugin = pluginByDriver(driverName)
  if (plugin !== undefined) return plugin
  throw new TranslationError('UNKNOWN_NAME', `could not find In-Tree driver name for CSI plugin ${driverName}`)
}

function firstOf<T>(translate: (plugin: InTreePlugin) => T | undefined): T | undefined {
  for (const plugin of PLUGINS) {
    const translated = translate(plugin)
    if (translated !== undefined) return translated
  }
  return undefined
}

function noLogic(plugin: string): never {
  throw new TranslationError('NO_TRANSLATION_LOGIC', `could not find in-tree plugin translation logic for ${plugin}`)
}

function noName(plugin: string): never {
  throw new TranslationError('NO_TRANSLATION_LOGIC', `could not find in-tree plugin name from ${plugin}`)
}
