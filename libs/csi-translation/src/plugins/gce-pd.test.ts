import { expect, it } from '@jest/globals'
import { BETA, GA, type TopologyLabels } from '../rules/topology.ts'
import { repairVolumeHandle, translateCSIPVToInTree, translateInTreePVToCSI } from '../translate.ts'

const DRIVER = 'pd.csi.storage.gke.io'
const volume = (labels: TopologyLabels = {}, accessModes?: readonly string[]) => ({
  metadata: { labels },
  spec: { gcePersistentDisk: { pdName: 'disk' }, accessModes },
})

it.each<[labels: TopologyLabels, handle: string]>([
  [{}, 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk'],
  [{ [GA.zone]: 'anything' }, 'projects/UNSPECIFIED/zones/anything/disks/disk'],
  [{ [GA.zone]: 'ga', [BETA.zone]: 'beta' }, 'projects/UNSPECIFIED/zones/beta/disks/disk'],
  [{ [GA.zone]: 'ga', [BETA.zone]: '' }, 'projects/UNSPECIFIED/zones/ga/disks/disk'],
  [{ [GA.zone]: 'us-east1-b__us-east1-a' }, 'projects/UNSPECIFIED/regions/us-east1/disks/disk'],
])('a GCE disk with the labels %j has the handle %s', (labels, handle) => {
  expect(translateInTreePVToCSI(volume(labels)).spec?.csi?.volumeHandle).toBe(handle)
})

it.each<[zones: string, code: string, message: string]>([
  [
    'us-east1-a__',
    'GCE_ZONE_FORMAT',
    'failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: ',
  ],
  [
    'us-east1-a__eu-west1-b',
    'REGION_NOT_UNIQUE',
    'failed to get region from zones: multiple or no regions gotten from zones, got: map[eu-west1:{} us-east1:{}]',
  ],
])('a GCE disk in the zones %s cannot be translated', (zones, code, message) => {
  expect(() => translateInTreePVToCSI(volume({ [GA.zone]: zones }))).toThrow(expect.objectContaining({ code, message }))
})

it.each<[before: string[] | undefined, after: string[] | undefined]>([
  [undefined, undefined],
  [[], ['ReadWriteOnce']],
  [['ReadWriteOnce'], ['ReadWriteOnce']],
  [['ReadWriteMany'], ['ReadWriteOnce']],
  [['ReadOnlyMany', 'ReadWriteMany'], ['ReadWriteOnce']],
  [['ReadOnlyMany', 'ReadWriteOnce'], ['ReadWriteOnce']],
  [['ReadOnlyMany'], ['ReadOnlyMany']],
  [['ReadOnlyMany', 'ReadWriteOncePod'], ['ReadOnlyMany']],
  [['ReadWriteOncePod'], ['ReadWriteOnce']],
  [['Odd'], ['ReadWriteOnce']],
])('the translation of a GCE disk changes the access modes %j to %j', (before, after) => {
  expect(translateInTreePVToCSI(volume({}, before)).spec?.accessModes).toEqual(after)
})

const NODE = 'projects/p/zones/us-east1-b/instances/i'
it.each<[handle: string, nodeId: string, repaired: string]>([
  ['projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d', NODE, 'projects/p/zones/us-east1-b/disks/d'],
  ['projects/UNSPECIFIED/zones/z/disks/d', NODE, 'projects/p/zones/z/disks/d'],
  ['projects/UNSPECIFIED/regions/UNSPECIFIED/disks/d', NODE, 'projects/p/regions/us-east1/disks/d'],
  ['projects/UNSPECIFIED/regions/r/disks/d', NODE, 'projects/p/regions/r/disks/d'],
  ['a/UNSPECIFIED/zones/z/b/d/lost', NODE, 'projects/p/zones/z/disks/d'],
  ['projects/own/zones/UNSPECIFIED/disks/d', 'no node', 'projects/own/zones/UNSPECIFIED/disks/d'],
])('`repairVolumeHandle` changes the handle %s for the node %s to %s', (handle, nodeId, repaired) => {
  expect(repairVolumeHandle(DRIVER, handle, nodeId)).toBe(repaired)
})

it.each<[handle: string, nodeId: string, code: string, message: string]>([
  ['a/b', NODE, 'GCE_HANDLE_ELEMENTS', 'volume handle has wrong number of elements; got 2, wanted 6 or more'],
  [
    'projects/UNSPECIFIED/zones/z/disks/d',
    'foo',
    'GCE_NODE_ELEMENTS',
    'node handle has wrong number of elements; got 1, wanted 6 or more',
  ],
  [
    'projects/UNSPECIFIED/moons/z/disks/d',
    NODE,
    'GCE_REGIONALITY',
    'expected volume handle to have zones or regions regionality value, got: moons',
  ],
  [
    'projects/UNSPECIFIED/regions/UNSPECIFIED/disks/d',
    'projects/p/zones/z/instances/i',
    'GCE_ZONE_FORMAT',
    'failed to get region from zone z: zone in unexpected format, expected: {locale}-{region}-{zone}, got: z',
  ],
])('`repairVolumeHandle` refuses the handle %s for the node %s', (handle, nodeId, code, message) => {
  expect(() => repairVolumeHandle(DRIVER, handle, nodeId)).toThrow(expect.objectContaining({ code, message }))
})

it.each<[handle: string, partition: string, code: string, message: string]>([
  ['a/b', '', 'GCE_HANDLE_ELEMENTS', 'failed to get id components.Got: 2, wanted 6 components or more. '],
  [
    'projects/p/zones/z/disks/d',
    'x',
    'BAD_PARTITION',
    'Failed to convert partition x to integer: strconv.Atoi: parsing "x": invalid syntax',
  ],
])('the GCE handle %s with the partition %j has no in-tree translation', (volumeHandle, partition, code, message) => {
  const pv = { spec: { csi: { driver: DRIVER, volumeHandle, volumeAttributes: { partition } } } }
  expect(() => translateCSIPVToInTree(pv)).toThrow(expect.objectContaining({ code, message }))
})
