import { describe, expect, it } from '@jest/globals'
import { translateCSIPVToInTree, translateInTreeInlineVolumeToCSI, translateInTreePVToCSI } from '../translate.ts'
import { azureDiskName, isManagedDisk } from './azure-disk.ts'

const URI = '/subscriptions/1/resourceGroups/2/providers/Microsoft.Compute/disks/name'
const source = { diskName: 'name', diskURI: URI }
const csiOf = (more: object) => translateInTreePVToCSI({ spec: { azureDisk: { ...source, ...more } } }).spec?.csi

describe('managed disks', () => {
  it.each([[undefined], ['Managed'], ['managed'], ['MANAGED']])('Azure disks of the kind %s are translated', (kind) => {
    expect(csiOf({ kind })?.volumeAttributes).toEqual({ kind: 'Managed' })
  })

  it.each(['Shared', 'Dedicated', ''])('an Azure disk of the kind %j is not translated', (kind) => {
    expect(() => csiOf({ kind })).toThrow(
      expect.objectContaining({ code: 'AZURE_DISK_KIND', message: `kind(${kind}) is not supported in csi migration` }),
    )
  })

  it('the translation of an Azure disk keeps all of its fields, even empty fields', () => {
    expect(csiOf({ cachingMode: '', fsType: '', readOnly: false })).toEqual({
      driver: 'disk.csi.azure.com',
      volumeHandle: URI,
      volumeAttributes: { kind: 'Managed', cachingmode: '', fstype: '' },
    })
  })

  it('the translation of an Azure disk drops an empty caching mode if a pod declares the volume inline', () => {
    const pv = translateInTreeInlineVolumeToCSI(
      { name: 'v', azureDisk: { ...source, cachingMode: '', fsType: '' } },
      'ns',
    )
    expect(pv.spec?.csi?.volumeAttributes).toEqual({ kind: 'Managed', fstype: '' })
  })

  it('the translation of an Azure disk ignores zone labels and adds no affinity', () => {
    const pv = { metadata: { labels: { 'topology.kubernetes.io/zone': 'a' } }, spec: { azureDisk: source } }
    expect(translateInTreePVToCSI(pv).spec?.nodeAffinity).toBeUndefined()
  })

  it('the translation from CSI to an Azure disk accepts attribute keys in any case, and drops empty attributes', () => {
    const volumeAttributes = { CachingMode: 'None', fsTYPE: '' }
    const csi = { driver: 'disk.csi.azure.com', volumeHandle: URI, fsType: 'xfs', volumeAttributes }
    expect(translateCSIPVToInTree({ spec: { csi } }).spec?.azureDisk).toEqual({
      ...source,
      kind: 'Managed',
      cachingMode: 'None',
      fsType: 'xfs',
      readOnly: false,
    })
  })
})

it.each<[uri: string, name: string]>([
  [URI, 'name'],
  [`x${URI}/${URI}2`, 'name2'],
  ['http://account/vhds/name', 'name'],
  ['HTTPS-http://account/vhds/name/vhds/2', '2'],
])('`azureDiskName` finds in the text %s the disk name %s', (uri, name) => {
  expect(azureDiskName(uri)).toBe(name)
})

it.each<[uri: string, pattern: string]>([
  ['name', '.*/subscriptions/(?:.*)/resourceGroups/(?:.*)/providers/Microsoft.Compute/disks/(.+)'],
  [URI.toLowerCase(), '.*/subscriptions/(?:.*)/resourceGroups/(?:.*)/providers/Microsoft.Compute/disks/(.+)'],
  ['http://vhds/name', 'http(?:.*)://(?:.*)/vhds/(.+)'],
])('`azureDiskName` finds no disk name in %s', (uri, pattern) => {
  expect(() => azureDiskName(uri)).toThrow(
    expect.objectContaining({
      code: 'AZURE_DISK_URI',
      message: `could not get disk name from ${uri}, correct format: ${pattern}`,
    }),
  )
})

it.each([
  [URI, true],
  ['http', true],
  ['https', false],
  ['HtTp:', false],
])('`isManagedDisk` returns for the disk URI %s: %s', (uri, managed) => {
  expect(isManagedDisk(uri)).toBe(managed)
})
