import type { CSIPersistentVolumeSource, StorageClass } from '@csi-sidecars/kube-types'
import { csiSource } from '../rules/csi-source.ts'
import { textBehind } from '../rules/go-text.ts'
import { createPlugin, type VolumeSource } from '../rules/plugin.ts'
import { entriesByKey, keepParameter, mapTopologies, type TextMap, withZones } from '../rules/storage-class.ts'
import { TranslationError } from '../rules/translation-error.ts'

const DRIVER = 'disk.csi.azure.com'
const ZONE_KEY = 'topology.disk.csi.azure.com/zone'
const MANAGED = 'Managed'
/** The forms of disk URIs. `format` is the regular expression of upstream, which error messages contain. */
const MANAGED_URI = {
  format: '.*/subscriptions/(?:.*)/resourceGroups/(?:.*)/providers/Microsoft.Compute/disks/(.+)',
  marks: ['/subscriptions/', '/resourceGroups/'],
  last: { at: /(?=\/providers\/Microsoft.Compute\/disks\/)/gs, length: '/providers/Microsoft.Compute/disks/'.length },
}
const UNMANAGED_URI = {
  format: 'http(?:.*)://(?:.*)/vhds/(.+)',
  marks: ['http', '://'],
  last: { at: /(?=\/vhds\/)/g, length: '/vhds/'.length },
}

type AzureDiskSource = VolumeSource<'azureDisk'>

export const azureDisk = createPlugin({
  inTreeName: 'kubernetes.io/azure-disk',
  driverName: DRIVER,
  field: 'azureDisk',
  volumeToCsi: (source) => ({ csi: csiOf(source, source.cachingMode ?? undefined) }),
  inlineToCsi: (source) => {
    // An empty caching mode is dropped for a volume in a pod, but passed on for a PersistentVolume.
    const csi = csiOf(source, source.cachingMode || undefined)
    return { name: csi.volumeHandle, csi }
  },
  volumeToInTree: (csi) => ({ source: sourceOf(csi) }),
  classToCsi: (storageClass) => withUnzonedRegions(withZones(storageClass, ZONE_KEY, keepParameter)),
})

function csiOf(source: AzureDiskSource, cachingmode: string | undefined): CSIPersistentVolumeSource {
  const kind = source.kind ?? MANAGED
  if (kind.toLowerCase() !== MANAGED.toLowerCase()) {
    throw new TranslationError('AZURE_DISK_KIND', `kind(${kind}) is not supported in csi migration`)
  }
  const fstype = source.fsType ?? undefined
  return csiSource({
    driver: DRIVER,
    volumeHandle: source.diskURI,
    readOnly: source.readOnly,
    fsType: fstype,
    volumeAttributes: {
      kind: MANAGED,
      ...(cachingmode !== undefined && { cachingmode }),
      ...(fstype !== undefined && { fstype }),
    },
  })
}

function sourceOf({ volumeHandle, fsType = '', readOnly = false, volumeAttributes }: CSIPersistentVolumeSource) {
  const { cachingmode, fstype }: { cachingmode?: string; fstype?: string } = lowerCased(volumeAttributes)
  return {
    diskName: azureDiskName(volumeHandle),
    diskURI: volumeHandle,
    kind: MANAGED,
    fsType: fstype || fsType,
    readOnly,
    ...(cachingmode && { cachingMode: cachingmode }),
  }
}

/** Returns the attributes that are not empty, with keys in lower case. */
function lowerCased(attributes: TextMap | undefined): TextMap {
  const entries = entriesByKey(attributes).filter(([, value]) => value !== '')
  return Object.fromEntries(entries.map(([key, value]) => [key.toLowerCase(), value]))
}

export function azureDiskName(uri: string): string {
  const { format, marks, last } = isManagedDisk(uri) ? MANAGED_URI : UNMANAGED_URI
  const name = textBehind(uri, marks, last)
  if (name !== undefined) return name
  throw new TranslationError('AZURE_DISK_URI', `could not get disk name from ${uri}, correct format: ${format}`)
}

export function isManagedDisk(uri: string): boolean {
  return !(uri.length > 4 && uri.slice(0, 4).toLowerCase() === 'http')
}

/** Replaces each numeric zone by the empty zone, which the driver uses in regions without zones. */
function withUnzonedRegions(storageClass: StorageClass): StorageClass {
  return mapTopologies(storageClass, (expression) =>
    expression.key === ZONE_KEY
      ? { ...expression, values: (expression.values ?? []).map((zone) => (/^[0-9]+$/.test(zone) ? '' : zone)) }
      : expression,
  )
}
