import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { csiSource } from '../rules/csi-source.ts'
import { createPlugin, type VolumeSource } from '../rules/plugin.ts'
import { type ParameterRule, renameFsType, withParameters, withTopologyKey } from '../rules/storage-class.ts'
import { type Affinity, keyToCsi, labelled, renamed, topologyLabelsOf, valuesOf } from '../rules/topology.ts'

const DRIVER = 'csi.vsphere.vmware.com'
const ZONE_KEY = 'topology.csi.vmware.com/zone'
const REGION_KEY = 'topology.csi.vmware.com/region'
const POLICY = 'storagepolicyname'
/** The parameters of in-tree classes that the driver accepts only with the suffix `-migrationparam`. */
const MIGRATED_PARAMETERS = new Set([
  'datastore',
  'diskformat',
  'hostfailurestotolerate',
  'forceprovisioning',
  'cachereservation',
  'diskstripes',
  'objectspacereservation',
  'iopslimit',
])

export const vsphereVolume = createPlugin({
  inTreeName: 'kubernetes.io/vsphere-volume',
  driverName: DRIVER,
  field: 'vsphereVolume',
  volumeToCsi: (source, pv) => ({ csi: csiOf(source), nodeAffinity: affinityOf(pv) }),
  inlineToCsi: (source) => ({ csi: csiOf(source) }),
  volumeToInTree: (csi, pv) => {
    const source = {
      volumePath: csi.volumeAttributes?.['initialvolumefilepath'] ?? '',
      ...(csi.fsType && { fsType: csi.fsType }),
    }
    return { source, ...inTreeTopologyOf(pv) }
  },
  classToCsi: (storageClass) => {
    const translated = withTopologyKey(withParameters(storageClass, parameterToCsi), ZONE_KEY)
    // The parameter `csimigration` makes the driver report volume paths, because the in-tree plugin knows only paths.
    return { ...translated, parameters: { ...translated.parameters, csimigration: 'true' } }
  },
})

function csiOf({ volumePath, fsType, storagePolicyName }: VolumeSource<'vsphereVolume'>) {
  const volumeAttributes: { [key: string]: string } = storagePolicyName ? { [POLICY]: storagePolicyName } : {}
  return csiSource({ driver: DRIVER, volumeHandle: volumePath, fsType, volumeAttributes })
}

/** Returns the affinity with the keys of the driver. A label contains one zone or one region, never several. */
function affinityOf(pv: PersistentVolume): Affinity | undefined {
  const { zone, region } = topologyLabelsOf(pv)
  const partsOf = (label: string): string[] => [label]
  const zoned = keyToCsi(pv, { from: zone, to: ZONE_KEY, partsOf })
  return keyToCsi(pv, { from: region, to: REGION_KEY, partsOf, affinity: zoned })
}

function inTreeTopologyOf(pv: PersistentVolume) {
  const { zone, region } = topologyLabelsOf(pv)
  const zoned = renamed(pv.spec?.nodeAffinity ?? undefined, ZONE_KEY, zone)
  const nodeAffinity = renamed(zoned, REGION_KEY, region)
  const [firstZone] = valuesOf(nodeAffinity, zone)
  const [firstRegion] = valuesOf(nodeAffinity, region)
  const labels = labelled(pv.metadata?.labels, {
    ...(firstZone !== undefined && { [zone]: firstZone }),
    ...(firstRegion !== undefined && { [region]: firstRegion }),
  })
  return { nodeAffinity, labels }
}

const parameterToCsi: ParameterRule = (key, parameter) => {
  if (key === 'fstype') return renameFsType(key, parameter)
  if (key === POLICY) return [[POLICY, parameter[1]]]
  return MIGRATED_PARAMETERS.has(key) ? [[`${key}-migrationparam`, parameter[1]]] : []
}
