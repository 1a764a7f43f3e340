import { join } from 'node:path'
import { type CsiVolumeId, sha256 } from '../volume-names.ts'

/** Where a kubelet keeps what it mounts. Drivers and their users know these paths. */
export interface Paths {
  /** Where a volume is staged for all pods of the node. */
  staging(volume: CsiVolumeId & { readonly name: string; readonly block: boolean }): string
  /** Where a pod finds a CSI volume. */
  target(volume: { readonly name: string; readonly block: boolean }, podUid: string): string
  /** Where a pod finds a volume that the node itself provides. */
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

/** `emptyDir` is the plugin `empty-dir`. */
function kebab(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (capitals) => `-${capitals.toLowerCase()}`)
}
