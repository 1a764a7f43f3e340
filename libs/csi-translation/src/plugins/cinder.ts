import { csiSource, fsTypeAndReadOnly } from '../rules/csi-source.ts'
import { createPlugin, type VolumeSource } from '../rules/plugin.ts'
import { renameFsType, withParameters, withTopologyKey } from '../rules/storage-class.ts'
import { affinityToCsi, topologyToInTree } from '../rules/topology.ts'

const DRIVER = 'cinder.csi.openstack.org'
const ZONE_KEY = 'topology.cinder.csi.openstack.org/zone'

export const cinder = createPlugin({
  inTreeName: 'kubernetes.io/cinder',
  driverName: DRIVER,
  field: 'cinder',
  volumeToCsi: (source, pv) => ({ csi: csiOf(source), nodeAffinity: affinityToCsi(pv, ZONE_KEY) }),
  inlineToCsi: (source) => ({ csi: csiOf(source) }),
  volumeToInTree: (csi, pv) => {
    const source = { volumeID: csi.volumeHandle, ...fsTypeAndReadOnly(csi) }
    // The name of a Cinder zone does not contain the region, so the volume gets no region.
    return { source, ...topologyToInTree(pv, ZONE_KEY) }
  },
  classToCsi: (storageClass) => withTopologyKey(withParameters(storageClass, renameFsType), ZONE_KEY),
})

function csiOf({ volumeID, fsType, readOnly }: Omit<VolumeSource<'cinder'>, 'secretRef'>) {
  return csiSource({ driver: DRIVER, volumeHandle: volumeID, fsType, readOnly })
}
