import { expect, it } from '@jest/globals'
import { awsRegionFromZones, ebsVolumeId } from './plugins/aws-ebs.ts'
import { azureDiskName, isManagedDisk } from './plugins/azure-disk.ts'
import { azureFileAccountName, azureFileShareInfo } from './plugins/azure-file.ts'
import { gceRegionFromZones } from './plugins/gce-pd.ts'
import { addTopology } from './rules/topology.ts'
import { expectedOutcome, type MigrationInput, migrationCases, outcomeOf } from './testing/index.ts'
import * as translate from './translate.ts'

/** The functions that run a migration case, by the `direction` of the case. */
const OPERATIONS = new Map<string, (input: MigrationInput) => unknown>([
  ['inTreePVToCSI', ({ pv }) => translate.translateInTreePVToCSI(pv)],
  [
    'inlineVolumeToCSI',
    ({ volume, podNamespace = '' }) => translate.translateInTreeInlineVolumeToCSI(volume, podNamespace),
  ],
  ['csiPVToInTree', ({ pv }) => translate.translateCSIPVToInTree(pv)],
  [
    'storageClassToCSI',
    ({ inTreePluginName = '', storageClass }) =>
      translate.translateInTreeStorageClassToCSI(inTreePluginName, storageClass),
  ],
  [
    'repairVolumeHandle',
    ({ driverName = '', volumeHandle = '', nodeID = '' }) =>
      translate.repairVolumeHandle(driverName, volumeHandle, nodeID),
  ],
  ['isPVMigratable', ({ pv }) => translate.isPVMigratable(pv)],
  ['isInlineMigratable', ({ volume }) => translate.isInlineMigratable(volume)],
  ['isMigratedCSIDriverByName', ({ driverName = '' }) => translate.isMigratedCSIDriverByName(driverName)],
  [
    'isMigratableInTreePluginByName',
    ({ inTreePluginName = '' }) => translate.isMigratableInTreePluginByName(inTreePluginName),
  ],
  ['csiNameFromInTreeName', ({ inTreePluginName = '' }) => translate.csiNameFromInTreeName(inTreePluginName)],
  ['inTreeNameFromCSIName', ({ driverName = '' }) => translate.inTreeNameFromCSIName(driverName)],
  ['inTreePluginNameFromSpec', ({ pv, volume }) => translate.inTreePluginNameFromSpec(pv, volume)],
  ['awsVolumeIDToEBSVolumeID', ({ value = '' }) => ebsVolumeId(value)],
  ['azureDiskName', ({ value = '' }) => azureDiskName(value)],
  ['azureFileAccountName', ({ value = '' }) => azureFileAccountName(value)],
  ['azureIsManagedDisk', ({ value = '' }) => isManagedDisk(value)],
  ['azureFileShareInfo', ({ value = '' }) => azureFileShareInfo(value)],
  ['awsRegionFromZones', ({ zones = [] }) => awsRegionFromZones(zones)],
  ['gceRegionFromZones', ({ zones = [] }) => gceRegionFromZones(zones)],
  ['addTopology', ({ pv, topologyKey = '', zones = [] }) => addTopology(pv ?? {}, topologyKey, zones)],
])
const APPS = /^(attacher|resizer)/

for (const each of migrationCases((direction) => !APPS.test(direction))) {
  it(`the translation of migration case ${each.id} has the expected outcome`, () => {
    const operation = OPERATIONS.get(each.direction)
    if (operation === undefined) throw new Error(`no operation for ${each.direction}`)
    const before = structuredClone(each.input)
    expect(outcomeOf(() => operation(each.input))).toEqual(expectedOutcome(each))
    expect(each.input).toEqual(before)
  })
}
