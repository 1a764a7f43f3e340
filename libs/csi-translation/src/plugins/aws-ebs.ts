import { csiSource, fsTypeAndReadOnly } from '../rules/csi-source.ts'
import { partitionOf } from '../rules/go-text.ts'
import { createPlugin, type VolumeSource } from '../rules/plugin.ts'
import { type ParameterRule, renameFsType, withZones } from '../rules/storage-class.ts'
import { affinityToCsi, commonRegion, topologyToInTree } from '../rules/topology.ts'
import { explaining, TranslationError } from '../rules/translation-error.ts'

const DRIVER = 'ebs.csi.aws.com'
const ZONE_KEY = 'topology.ebs.csi.aws.com/zone'
/** An in-tree volume ID with a zone. The zone may be empty. A query or a fragment is no part of the ID. */
const ZONE_AND_ID = /^aws:\/\/[a-z0-9-]*\/+(?<id>vol-[^/?#%]*)\/*(?:[?#].*)?$/s

export const awsEbs = createPlugin({
  inTreeName: 'kubernetes.io/aws-ebs',
  driverName: DRIVER,
  field: 'awsElasticBlockStore',
  volumeToCsi: (source, pv) => ({ csi: csiOf(source), nodeAffinity: affinityToCsi(pv, ZONE_KEY) }),
  inlineToCsi: (source) => ({ csi: csiOf(source) }),
  volumeToInTree: (csi, pv) => {
    const text = csi.volumeAttributes?.['partition']
    const partition = text === undefined ? 0 : partitionOf(text, 'failed')
    const source = { volumeID: csi.volumeHandle, ...fsTypeAndReadOnly(csi), ...(partition !== 0 && { partition }) }
    return { source, ...topologyToInTree(pv, ZONE_KEY, awsRegionFromZones) }
  },
  classToCsi: (storageClass) => withZones(storageClass, ZONE_KEY, parameterToCsi),
})

function csiOf({ volumeID = '', fsType, partition, readOnly }: VolumeSource<'awsElasticBlockStore'>) {
  const volumeHandle = explaining('failed to translate Kubernetes ID to EBS Volume ID ', () => ebsVolumeId(volumeID))
  const volumeAttributes = { partition: String(partition ?? 0) }
  return csiSource({ driver: DRIVER, volumeHandle, fsType, readOnly, volumeAttributes })
}

/** Returns the EBS volume ID of an in-tree `volumeID`, which is the ID itself or `aws://zone/id`. */
export function ebsVolumeId(volumeId: string): string {
  if (!volumeId.startsWith('aws://')) return volumeId
  const id = ZONE_AND_ID.exec(volumeId)?.groups?.['id']
  if (id !== undefined) return id
  throw new TranslationError('AWS_BAD_VOLUME_ID', `Invalid format for AWS volume (${volumeId})`)
}

export function awsRegionFromZones(zones: readonly string[]): string {
  return commonRegion(zones, regionOf)
}

/**
 * Returns the region of a zone such as `us-west-2a`, `us-gov-east-1a`, `us-west-2-lax-1a` (local) or
 * `us-east-1-wl1-bos-wlz-1` (wavelength).
 */
function regionOf(zone: string): string {
  const segments = zone.split('-')
  const last = segments.at(-1) ?? ''
  if ((segments.length === 3 || segments.length === 4) && Buffer.byteLength(last) === 2) {
    return [...segments.slice(0, -1), last.slice(0, 1)].join('-')
  }
  if (segments.length === 5 || segments.length === 7) return segments.slice(0, 3).join('-')
  throw new TranslationError('AWS_ZONE_FORMAT', `Unexpected zone format: ${zone} is not a valid AWS zone`)
}

/** Adds the parameter that makes the driver raise too low IOPS to the minimum of EBS, as the in-tree plugin did. */
const parameterToCsi: ParameterRule = (key, parameter) =>
  key === 'iopspergb' ? [parameter, ['allowautoiopspergbincrease', 'true']] : renameFsType(key, parameter)
