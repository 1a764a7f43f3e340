import type { StorageClass } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { translateInTreeStorageClassToCSI } from '../translate.ts'
import { BETA, GA } from './topology.ts'

type Parameters = { readonly [key: string]: string }
const classOf = (provisioner: string, more: Partial<StorageClass>): StorageClass => ({
  provisioner: `kubernetes.io/${provisioner}`,
  ...more,
})
const translated = (plugin: string, more: Partial<StorageClass>) =>
  translateInTreeStorageClassToCSI(`kubernetes.io/${plugin}`, classOf(plugin, more))
const topology = (key: string, ...values: string[]) => [{ matchLabelExpressions: [{ key, values }] }]
const EBS = 'topology.ebs.csi.aws.com/zone'
const AZURE = 'topology.disk.csi.azure.com/zone'

describe('parameters', () => {
  it.each<[plugin: string, before: Parameters, after: Parameters | undefined]>([
    ['aws-ebs', { FSType: 'xfs', type: 'gp3' }, { 'csi.storage.k8s.io/fstype': 'xfs', type: 'gp3' }],
    ['aws-ebs', { iopsPerGB: '10' }, { iopsPerGB: '10', allowautoiopspergbincrease: 'true' }],
    ['gce-pd', { iopsPerGB: '10', fstype: 'xfs' }, { iopsPerGB: '10', 'csi.storage.k8s.io/fstype': 'xfs' }],
    ['cinder', { availability: 'nova', fsType: 'xfs' }, { availability: 'nova', 'csi.storage.k8s.io/fstype': 'xfs' }],
    ['azure-disk', { fsType: 'xfs', kind: 'managed' }, { fsType: 'xfs', kind: 'managed' }],
    ['azure-file', { fsType: 'xfs', zone: 'a' }, { fsType: 'xfs', zone: 'a' }],
    [
      'vsphere-volume',
      { DiskFormat: 'thin', Datastore: 'd', storagePolicyName: 'p', fstype: 'xfs', other: 'dropped' },
      {
        'diskformat-migrationparam': 'thin',
        'datastore-migrationparam': 'd',
        storagepolicyname: 'p',
        'csi.storage.k8s.io/fstype': 'xfs',
        csimigration: 'true',
      },
    ],
    ['gce-pd', {}, undefined],
  ])('the translation of a StorageClass of %s changes the parameters %j', (plugin, before, after) => {
    expect(translated(plugin, { parameters: before })).toEqual(
      classOf(plugin, after === undefined ? {} : { parameters: after }),
    )
  })

  it('the translation of a Portworx StorageClass sets the provisioner pxd.portworx.com and the Secret of each CSI call', () => {
    const { provisioner, parameters } = translated('portworx-volume', {
      parameters: { 'OpenStorage.io/auth-secret-name': 's', repl: '2' },
    })
    expect(provisioner).toBe('pxd.portworx.com')
    expect(parameters).toEqual({
      repl: '2',
      'csi.storage.k8s.io/provisioner-secret-name': 's',
      'csi.storage.k8s.io/controller-publish-secret-name': 's',
      'csi.storage.k8s.io/node-publish-secret-name': 's',
      'csi.storage.k8s.io/node-stage-secret-name': 's',
      'csi.storage.k8s.io/controller-expand-secret-name': 's',
      'csi.storage.k8s.io/node-expand-secret-name': 's',
    })
  })
})

describe('topologies', () => {
  it.each<[name: string, plugin: string, before: Partial<StorageClass>, after: Partial<StorageClass>]>([
    ['a zone', 'aws-ebs', { parameters: { zone: 'a,b' } }, { allowedTopologies: topology(EBS, 'a,b') }],
    [
      'zones, which it splits but does not trim',
      'aws-ebs',
      { parameters: { Zones: 'a, b' } },
      { allowedTopologies: topology(EBS, 'a', ' b') },
    ],
    ['a GA key', 'aws-ebs', { allowedTopologies: topology(GA.zone, 'a') }, { allowedTopologies: topology(EBS, 'a') }],
    [
      'a beta key',
      'aws-ebs',
      { allowedTopologies: topology(BETA.zone, 'a') },
      { allowedTopologies: topology(EBS, 'a') },
    ],
    [
      'other keys, which it keeps',
      'aws-ebs',
      { allowedTopologies: topology(GA.region, 'r') },
      { allowedTopologies: topology(GA.region, 'r') },
    ],
    [
      'numeric zones',
      'azure-disk',
      { allowedTopologies: [...topology(GA.zone, '0', 'eastus-1', '12'), ...topology('other', '0')] },
      { allowedTopologies: [...topology(AZURE, '', 'eastus-1', ''), ...topology('other', '0')] },
    ],
    [
      'numeric zones in parameters',
      'azure-disk',
      { parameters: { zones: '1,2' } },
      { allowedTopologies: topology(AZURE, '', '') },
    ],
    ['a zone of Cinder, kept', 'cinder', { parameters: { zone: 'a' } }, { parameters: { zone: 'a' } }],
  ])('the translation of a StorageClass changes %s', (_what, plugin, before, after) => {
    expect(translated(plugin, before)).toEqual(classOf(plugin, after))
  })

  it.each(['aws-ebs', 'gce-pd', 'azure-disk'])('a %s StorageClass with topologies and zones is refused', (plugin) => {
    const both = { parameters: { zone: 'a' }, allowedTopologies: topology(GA.zone, 'a') }
    expect(() => translated(plugin, both)).toThrow(
      expect.objectContaining({
        code: 'SC_ZONE_AND_TOPOLOGY',
        message: 'cannot simultaneously set allowed topologies and zone/zones parameters',
      }),
    )
  })
})
