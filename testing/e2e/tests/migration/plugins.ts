import type { PersistentVolumeSpec } from '@csi-sidecars/kube-types'

/** One in-tree volume and the expected calls to the driver. */
export interface InTreeVolume {
  readonly what: string
  readonly spec: Partial<PersistentVolumeSpec>
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  /** Named by two annotations of the volume. */
  readonly secret?: true
  /** Returns the volume handle, which contains the name of the volume if the plugin does so. */
  readonly handle: (pv: string) => string
  readonly context?: Readonly<Record<string, string>>
  readonly fsType?: string
  readonly mode?: string
  readonly readOnly?: boolean
}

export interface Plugin {
  readonly name: string
  readonly driver: string
  readonly volumes: readonly InTreeVolume[]
}

const ZONE = 'topology.kubernetes.io/zone'
const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone'

export const PLUGINS: readonly Plugin[] = [
  {
    name: 'awsElasticBlockStore',
    driver: 'ebs.csi.aws.com',
    volumes: [
      {
        what: 'a URL',
        spec: { awsElasticBlockStore: { volumeID: 'aws://eu-west-1a/vol-0abc', fsType: 'xfs' } },
        handle: () => 'vol-0abc',
        context: { partition: '0' },
        fsType: 'xfs',
      },
      {
        what: 'a bare id with a partition',
        spec: { awsElasticBlockStore: { volumeID: 'vol-1', partition: 3 } },
        handle: () => 'vol-1',
        context: { partition: '3' },
      },
    ],
  },
  {
    name: 'gcePersistentDisk',
    driver: 'pd.csi.storage.gke.io',
    volumes: [
      {
        what: 'zonal',
        spec: { gcePersistentDisk: { pdName: 'disk-a', fsType: 'ext4' } },
        labels: { [ZONE]: 'us-east1-b' },
        handle: () => 'projects/UNSPECIFIED/zones/us-east1-b/disks/disk-a',
        context: { partition: '' },
        fsType: 'ext4',
      },
      {
        what: 'regional, shared',
        spec: { gcePersistentDisk: { pdName: 'disk-b' }, accessModes: ['ReadWriteMany'] },
        labels: { [BETA_ZONE]: 'us-east1-b__us-east1-c' },
        handle: () => 'projects/UNSPECIFIED/regions/us-east1/disks/disk-b',
        context: { partition: '' },
      },
      {
        what: 'a partition, read-only modes',
        spec: { gcePersistentDisk: { pdName: 'disk-c', partition: 2, readOnly: true }, accessModes: ['ReadOnlyMany'] },
        handle: () => 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk-c',
        context: { partition: '2' },
        mode: 'MULTI_NODE_READER_ONLY',
        readOnly: true,
      },
    ],
  },
  {
    name: 'cinder',
    driver: 'cinder.csi.openstack.org',
    volumes: [
      {
        what: 'a volume',
        spec: { cinder: { volumeID: 'c1-id', fsType: 'ext3', readOnly: true } },
        handle: () => 'c1-id',
        fsType: 'ext3',
        readOnly: true,
      },
    ],
  },
  {
    name: 'azureDisk',
    driver: 'disk.csi.azure.com',
    volumes: [
      {
        what: 'a managed disk',
        spec: {
          azureDisk: {
            diskName: 'd',
            diskURI: '/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/d',
            kind: 'Managed',
            cachingMode: 'ReadOnly',
            fsType: 'xfs',
          },
        },
        handle: () => '/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/d',
        context: { cachingmode: 'ReadOnly', fstype: 'xfs', kind: 'Managed' },
        fsType: 'xfs',
      },
    ],
  },
  {
    name: 'azureFile',
    driver: 'file.csi.azure.com',
    volumes: [
      {
        what: 'a share',
        spec: {
          azureFile: {
            secretName: 'azure-storage-account-acc-secret',
            shareName: 'share',
            secretNamespace: 'default',
            readOnly: false,
          },
          accessModes: ['ReadWriteMany'],
        },
        annotations: { 'kubernetes.io/azure-file-resource-group': 'rg' },
        handle: (pv) => `rg#acc#share#${pv}#default`,
        context: { sharename: 'share' },
        mode: 'MULTI_NODE_MULTI_WRITER',
      },
    ],
  },
  {
    name: 'vsphereVolume',
    driver: 'csi.vsphere.vmware.com',
    volumes: [
      {
        what: 'a path with a policy',
        spec: { vsphereVolume: { volumePath: '[ds] kubevols/v.vmdk', fsType: 'ext4', storagePolicyName: 'gold' } },
        handle: () => '[ds] kubevols/v.vmdk',
        context: { storagepolicyname: 'gold' },
        fsType: 'ext4',
      },
    ],
  },
  {
    name: 'portworxVolume',
    driver: 'pxd.portworx.com',
    volumes: [
      {
        what: 'a volume with a secret',
        spec: { portworxVolume: { volumeID: 'px-1', fsType: 'ext4', readOnly: true } },
        secret: true,
        handle: () => 'px-1',
        fsType: 'ext4',
      },
    ],
  },
]
