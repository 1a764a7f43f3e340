import { describe, expect, it } from '@jest/globals'
import { translateCSIPVToInTree, translateInTreePVToCSI } from '../translate.ts'
import { awsRegionFromZones, ebsVolumeId } from './aws-ebs.ts'

describe('ebsVolumeId', () => {
  it.each<[volumeId: string, id: string]>([
    ['vol-1', 'vol-1'],
    ['anything', 'anything'],
    ['', ''],
    ['AWS:///vol-1', 'AWS:///vol-1'],
    ['aws:/vol-1', 'aws:/vol-1'],
    ['aws://us-west-2a/vol-1', 'vol-1'],
    ['aws:////vol-1//', 'vol-1'],
    ['aws:///vol-1', 'vol-1'],
    ['aws://z/vol-1?x#y', 'vol-1'],
    ['aws://z/vol-', 'vol-'],
  ])('`ebsVolumeId` translates the volume ID %j to %j', (volumeId, id) => {
    expect(ebsVolumeId(volumeId)).toBe(id)
  })

  it.each([
    'aws://vol-1',
    'aws://z/a/vol-1',
    'aws://z/../vol-1',
    'aws://z/1',
    'aws://z/VOL-1',
    'aws:///',
    'aws://z/vol-%2F1',
    'aws://z z/vol-1',
    'aws://z/vol-1/2',
    `aws://${'z'.repeat(200_000)}`,
    `aws://z/${'/'.repeat(200_000)}x`,
    `aws://z/vol-1${'/'.repeat(200_000)}x`,
  ])('`ebsVolumeId` refuses the volume ID %j', (volumeId) => {
    expect(() => ebsVolumeId(volumeId)).toThrow(
      expect.objectContaining({
        code: 'AWS_BAD_VOLUME_ID',
        message: `Invalid format for AWS volume (${volumeId})`,
      }),
    )
  })
})

it('the error for an invalid EBS volume ID contains the failed step and the reason', () => {
  const pv = { spec: { awsElasticBlockStore: { volumeID: 'aws://z z/vol-1' } } }
  expect(() => translateInTreePVToCSI(pv)).toThrow(
    expect.objectContaining({
      code: 'AWS_BAD_VOLUME_ID',
      message: 'failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://z z/vol-1)',
    }),
  )
})

it.each<[zones: string[], region: string]>([
  [['us-west-2a', 'us-west-2b'], 'us-west-2'],
  [['us-gov-east-1a'], 'us-gov-east-1'],
  [['us-west-2-lax-1a'], 'us-west-2'],
  [['us-east-1-wl1-bos-wlz-1'], 'us-east-1'],
])('`awsRegionFromZones` returns for the zones %j the region %s', (zones, region) => {
  expect(awsRegionFromZones(zones)).toBe(region)
})

it.each<[zones: string[], code: string, message: string]>([
  [[], 'NO_ZONES', 'no zones specified'],
  [['us-west'], 'AWS_ZONE_FORMAT', 'Unexpected zone format: us-west is not a valid AWS zone'],
  [['us-west-10a'], 'AWS_ZONE_FORMAT', 'Unexpected zone format: us-west-10a is not a valid AWS zone'],
  [
    ['us-west-2a', 'eu-west-1a'],
    'REGION_NOT_UNIQUE',
    'multiple or no regions gotten from zones, got: map[eu-west-1:{} us-west-2:{}]',
  ],
])('`awsRegionFromZones` refuses the zones %j', (zones, code, message) => {
  expect(() => awsRegionFromZones(zones)).toThrow(expect.objectContaining({ code, message }))
})

it.each<[partition: string, reason: string]>([
  ['', 'strconv.Atoi: parsing "": invalid syntax'],
  ['one', 'strconv.Atoi: parsing "one": invalid syntax'],
  ['9223372036854775808', 'strconv.Atoi: parsing "9223372036854775808": value out of range'],
])('an EBS volume with the partition %j cannot be translated from CSI to its in-tree form', (partition, reason) => {
  const pv = { spec: { csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'v', volumeAttributes: { partition } } } }
  expect(() => translateCSIPVToInTree(pv)).toThrow(
    expect.objectContaining({
      code: 'BAD_PARTITION',
      message: `failed to convert partition ${partition} to integer: ${reason}`,
    }),
  )
})
