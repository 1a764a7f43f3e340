import type { Plugin } from './plugin.ts'
import { awsEbs } from './plugins/aws-ebs.ts'
import { azureDisk } from './plugins/azure-disk.ts'
import { azureFile } from './plugins/azure-file.ts'
import { cinder } from './plugins/cinder.ts'
import { gcePd } from './plugins/gce-pd.ts'
import { portworxVolume } from './plugins/portworx-volume.ts'
import { vsphereVolume } from './plugins/vsphere-volume.ts'

/** In this order a volume with two sources, which the API refuses, finds its plugin. */
export const PLUGINS: readonly Plugin[] = [awsEbs, gcePd, cinder, azureDisk, azureFile, vsphereVolume, portworxVolume]

const BY_DRIVER = new Map(PLUGINS.map((plugin) => [plugin.driverName, plugin]))
const BY_IN_TREE_NAME = new Map(PLUGINS.map((plugin) => [plugin.inTreeName, plugin]))

export function pluginByDriver(driverName: string): Plugin | undefined {
  return BY_DRIVER.get(driverName)
}

export function pluginByInTreeName(inTreeName: string): Plugin | undefined {
  return BY_IN_TREE_NAME.get(inTreeName)
}
