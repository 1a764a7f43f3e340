import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { csiSource, fsTypeAndReadOnly } from '../rules/csi-source.ts'
import { partitionOf } from '../rules/go-text.ts'
import { createPlugin, type VolumeSource } from '../rules/plugin.ts'
import { renameFsType, withZones } from '../rules/storage-class.ts'
import { affinityToCsi, BETA, commonRegion, GA, topologyToInTree, ZONE_DELIMITER } from '../rules/topology.ts'
import { explaining, TranslationError } from '../rules/translation-error.ts'

const DRIVER = 'pd.csi.storage.gke.io'
const ZONE_KEY = 'topology.gke.io/zone'
/** The placeholder in a volume handle for parts that the in-tree source lacks. */
const UNSPECIFIED = 'UNSPECIFIED'
/** The number of elements in a disk handle, `projects/{project}/zones/{zone}/disks/{name}`, and in a node ID. */
const ELEMENTS = 6

export const gcePd = createPlugin({
  inTreeName: 'kubernetes.io/gce-pd',
  driverName: DRIVER,
  field: 'gcePersistentDisk',
  volumeToCsi: (source, pv) => ({
    csi: csiOf(source, handleOf(source.pdName ?? '', pv)),
    nodeAffinity: affinityToCsi(pv, ZONE_KEY),
    accessModes: supportedAccessModes(pv.spec?.accessModes ?? undefined),
  }),
  inlineToCsi: (source) => {
    const name = source.pdName ?? ''
    return {
      name: `${DRIVER}-${name}`,
      csi: csiOf(source, zonalHandle(UNSPECIFIED, UNSPECIFIED, name)),
      accessMode: source.readOnly ? 'ReadOnlyMany' : 'ReadWriteOnce',
    }
  },
  volumeToInTree: (csi, pv) => {
    const pdName = diskNameOf(csi.volumeHandle)
    const text = csi.volumeAttributes?.['partition'] ?? ''
    const partition = text === '' ? 0 : partitionOf(text, 'Failed')
    const source = { pdName, ...fsTypeAndReadOnly(csi), ...(partition !== 0 && { partition }) }
    return { source, ...topologyToInTree(pv, ZONE_KEY, gceRegionFromZones) }
  },
  classToCsi: (storageClass) => withZones(storageClass, ZONE_KEY, renameFsType),
  repairHandle,
})

/** Returns the CSI source. A missing partition becomes an empty text. */
function csiOf({ fsType, partition, readOnly }: VolumeSource<'gcePersistentDisk'>, volumeHandle: string) {
  const volumeAttributes = { partition: partition ? String(partition) : '' }
  return csiSource({ driver: DRIVER, volumeHandle, fsType, readOnly, volumeAttributes })
}

/**
 * Returns the volume handle for a disk. Its location comes from the beta zone label, or else from the GA zone label.
 */
function handleOf(name: string, pv: PersistentVolume): string {
  const labels = pv.metadata?.labels ?? {}
  const zones = (labels[BETA.zone] || labels[GA.zone] || '').split(ZONE_DELIMITER)
  if (zones.length === 1) return zonalHandle(UNSPECIFIED, zones.join() || UNSPECIFIED, name)
  const region = explaining('failed to get region from zones: ', () => gceRegionFromZones(zones))
  return regionalHandle(UNSPECIFIED, region, name)
}

function zonalHandle(project: string, zone: string, name: string): string {
  return `projects/${project}/zones/${zone}/disks/${name}`
}

function regionalHandle(project: string, region: string, name: string): string {
  return `projects/${project}/regions/${region}/disks/${name}`
}

/** Returns ReadOnlyMany for a read-only volume, else ReadWriteOnce, because the driver refuses ReadWriteMany. */
function supportedAccessModes(modes: readonly string[] | undefined): readonly string[] | undefined {
  if (modes === undefined) return undefined
  const writable = modes.includes('ReadWriteOnce') || modes.includes('ReadWriteMany')
  return [modes.includes('ReadOnlyMany') && !writable ? 'ReadOnlyMany' : 'ReadWriteOnce']
}

/** Completes a volume handle without a project: adds the project and, if missing, the location of the node. */
function repairHandle(handle: string, nodeId: string): string {
  const elements = handle.split('/')
  if (elements.length < ELEMENTS) throw tooShort('GCE_HANDLE_ELEMENTS', 'volume', elements)
  const [, project, kind = '', place = '', , name = ''] = elements
  if (project !== UNSPECIFIED) return handle
  const nodeParts = nodeId.split('/')
  if (nodeParts.length < ELEMENTS) throw tooShort('GCE_NODE_ELEMENTS', 'node', nodeParts)
  const [, nodeProject = '', , nodeZone = ''] = nodeParts
  const unplaced = place === UNSPECIFIED
  switch (kind) {
    case 'zones':
      return zonalHandle(nodeProject, unplaced ? nodeZone : place, name)
    case 'regions':
      return regionalHandle(nodeProject, unplaced ? regionOfNode(nodeZone) : place, name)
    default:
      throw new TranslationError(
        'GCE_REGIONALITY',
        `expected volume handle to have zones or regions regionality value, got: ${kind}`,
      )
  }
}

function tooShort(code: 'GCE_HANDLE_ELEMENTS' | 'GCE_NODE_ELEMENTS', name: string, elements: readonly string[]) {
  return new TranslationError(
    code,
    `${name} handle has wrong number of elements; got ${elements.length}, wanted ${ELEMENTS} or more`,
  )
}

function regionOfNode(zone: string): string {
  return explaining(`failed to get region from zone ${zone}: `, () => gceRegionFromZones([zone]))
}

function diskNameOf(handle: string): string {
  const elements = handle.split('/')
  const [, , , , , name] = elements
  if (name !== undefined) return name
  throw new TranslationError(
    'GCE_HANDLE_ELEMENTS',
    `failed to get id components.Got: ${elements.length}, wanted ${ELEMENTS} components or more. `,
  )
}

export function gceRegionFromZones(zones: readonly string[]): string {
  return commonRegion(zones, regionOf)
}

function regionOf(zone: string): string {
  const segments = zone.split('-')
  if (segments.length === 3) return segments.slice(0, 2).join('-')
  throw new TranslationError(
    'GCE_ZONE_FORMAT',
    `zone in unexpected format, expected: {locale}-{region}-{zone}, got: ${zone}`,
  )
}
