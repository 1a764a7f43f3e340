import { join } from 'node:path'
import { type CsiVolumeId, sha256 } from '../volume-names.ts'

/** The paths at which a kubelet mounts volumes. Drivers and their users rely on them. */
export interface Paths {
  /** The path at which a volume is staged for all pods of the node. */
  staging(volume: CsiVolumeId & { readonly name: string; readonly block: boolean }): string
  /** The path of a CSI volume in a pod's folder. */
  target(volume: { readonly name: string; readonly block: boolean }, podUid: string): string
  /** The path of a volume that the node itself provides to a pod. */
  local(plugin: string, name: string, podUid: string): string
}

const CSI = 'kubernetes.io/csi'

export function kubeletPaths(root: string): Paths {
  const plugin = join(root, 'plugins', CSI)
  return {
    staging: ({ driver, volumeHandle, name, block }) =>
      block
        ? join(plugin, 'volumeDevices', 'staging', name)
        : join(plugin, driver, sha256(volumeHandle), 'globalmount'),
    target: ({ name, block }, podUid) =>
      block
        ? join(plugin, 'volumeDevices', 'publish', name, podUid)
        : join(root, 'pods', podUid, 'volumes', escaped(CSI), name, 'mount'),
    local: (kind, name, podUid) => join(root, 'pods', podUid, 'volumes', escaped(`kubernetes.io/${kebab(kind)}`), name),
  }
}

function escaped(plugin: string): string {
  return plugin.replaceAll('/', '~')
}

/** Converts the name of a plugin: `emptyDir` becomes `empty-dir`. */
function kebab(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (capitals) => `-${capitals.toLowerCase()}`)
}
