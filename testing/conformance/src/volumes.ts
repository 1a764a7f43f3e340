import {
  type BodyFields,
  type CaseStep,
  type Cases,
  CORE,
  get,
  jsonPatch,
  merge,
  post,
  putRequest,
  remove,
  volume,
} from './case.ts'

const VOLUMES = `${CORE}/persistentvolumes`

const made = (name: string, spec: BodyFields = {}, metadata: BodyFields = {}): CaseStep =>
  post(VOLUMES, volume(name, spec, metadata))
const changed = (name: string, spec: object): CaseStep => merge(`${VOLUMES}/${name}`, { spec })
const withFinalizers = (name: string, finalizers: readonly string[] | null): CaseStep =>
  merge(`${VOLUMES}/${name}`, { metadata: { finalizers } })

const LOCAL_SOURCE: BodyFields = { csi: undefined, hostPath: { path: '/x' } }

export const VOLUME_CASES: Cases = {
  'the capacity of a volume': [
    made('v-a'),
    changed('v-a', { capacity: { storage: '2Gi' } }),
    changed('v-a', { capacity: { storage: '1Mi' } }),
    changed('v-a', { capacity: { storage: '1.5' } }),
    changed('v-a', { capacity: { storage: '0' } }),
    changed('v-a', { capacity: { storage: '-5' } }),
    changed('v-a', { capacity: { storage: 'x' } }),
    changed('v-a', { capacity: { cpu: '1' } }),
    changed('v-a', { capacity: null }),
  ],
  'the class of a volume': [
    made('v-a'),
    changed('v-a', { volumeAttributesClassName: 'gold' }),
    changed('v-a', { volumeAttributesClassName: 'silver' }),
    changed('v-a', { volumeAttributesClassName: '' }),
    changed('v-a', { volumeAttributesClassName: null }),
    changed('v-a', { volumeAttributesClassName: 'A_B' }),
  ],
  'the class of a volume without a CSI source': [
    made('v-a', { ...LOCAL_SOURCE, volumeAttributesClassName: 'gold' }),
    made('v-a', { ...LOCAL_SOURCE, volumeAttributesClassName: '' }),
    made('v-a', { ...LOCAL_SOURCE, volumeAttributesClassName: 'A_B' }),
    made('v-a', LOCAL_SOURCE),
    changed('v-a', { volumeAttributesClassName: 'gold' }),
  ],
  'what of a volume is fixed': [
    made('v-a'),
    { ...changed('v-a', { csi: { volumeHandle: 'other' } }), only: ['code', 'reason', 'details.causes.0.field'] },
    changed('v-a', { csi: { controllerExpandSecretRef: { name: 'n', namespace: 's' } } }),
    {
      ...changed('v-a', { csi: { controllerExpandSecretRef: { name: 'm', namespace: 's' } } }),
      only: ['code', 'reason'],
    },
    changed('v-a', { volumeMode: 'Block' }),
    changed('v-a', { persistentVolumeReclaimPolicy: 'Delete', mountOptions: ['ro'] }),
    changed('v-a', { storageClassName: 'other' }),
  ],
  'finalizers of a volume by JSON patch': [
    made('v-a'),
    jsonPatch(`${VOLUMES}/v-a`, [{ op: 'add', path: '/metadata/finalizers/-', value: 'a/b' }]),
    jsonPatch(`${VOLUMES}/v-a`, [
      { op: 'test', path: '/metadata/finalizers', value: null },
      { op: 'add', path: '/metadata/finalizers', value: ['external-attacher/csi-example-com'] },
    ]),
    jsonPatch(`${VOLUMES}/v-a`, [
      { op: 'test', path: '/metadata/finalizers', value: null },
      { op: 'add', path: '/metadata/finalizers', value: ['a/b'] },
    ]),
    jsonPatch(`${VOLUMES}/v-a`, [{ op: 'add', path: '/metadata/finalizers/-', value: 'external-attacher/a_b' }]),
    jsonPatch(`${VOLUMES}/v-a`, [
      { op: 'test', path: '/metadata/finalizers/0', value: 'other/x' },
      { op: 'remove', path: '/metadata/finalizers/0' },
    ]),
    jsonPatch(`${VOLUMES}/v-a`, [
      { op: 'test', path: '/metadata/finalizers/1', value: 'external-attacher/a_b' },
      { op: 'remove', path: '/metadata/finalizers/1' },
    ]),
    jsonPatch(`${VOLUMES}/v-a`, [{ op: 'remove', path: '/metadata/finalizers/7' }]),
  ],
  'names of finalizers': [
    made('v-a'),
    withFinalizers('v-a', ['noslash']),
    withFinalizers('v-a', ['a/b', 'a/b']),
    withFinalizers('v-a', ['a/b/c']),
    withFinalizers('v-a', ['/b']),
    withFinalizers('v-a', ['a/']),
    withFinalizers('v-a', ['A_B/c']),
    withFinalizers('v-a', [`a/${'x'.repeat(64)}`]),
    withFinalizers('v-a', ['kubernetes.io/pv-protection', 'external-attacher/a_b']),
  ],
  'a volume is deleted when its last finalizer goes': [
    made('v-a', {}, { finalizers: ['a/b'] }),
    remove(`${VOLUMES}/v-a`),
    remove(`${VOLUMES}/v-a`),
    withFinalizers('v-a', ['a/b', 'c/d']),
    merge(`${VOLUMES}/v-a`, { metadata: { deletionTimestamp: null, labels: { still: 'there' } } }),
    withFinalizers('v-a', null),
    get(`${VOLUMES}/v-a`),
    merge(`${VOLUMES}/v-a`, {}),
  ],
  'volumes that are refused': [
    made('v-a', { csi: undefined }),
    made('v-a', { hostPath: { path: '/x' } }),
    made('v-a', { accessModes: [] }),
    made('v-a', { accessModes: ['ReadWriteOncePod', 'ReadWriteMany'] }),
    made('v-a', { capacity: undefined }),
    made('v-a', { csi: { driver: '', volumeHandle: 'x' } }),
    made('v-a', { csi: { driver: 'a_b', volumeHandle: 'x' } }),
    made('v-a', { csi: { driver: 'a.b', volumeHandle: '' } }),
    made('v-a', { csi: { driver: 'a.b', volumeHandle: 'x', controllerExpandSecretRef: { name: 'n' } } }),
    made('v-a', { csi: { driver: 'a.b', volumeHandle: 'x', controllerPublishSecretRef: { namespace: 'n' } } }),
    made('v-a', { persistentVolumeReclaimPolicy: 'Burn' }),
    made('v-a', { volumeMode: 'Tape' }),
    made('v-a', { storageClassName: 'A_B' }),
    made('v-a', { volumeAttributesClassName: '' }),
    made('V_A'),
    made('v-a', {}, { labels: { 'a b': 'c' }, annotations: { 'd e': 'f' } }),
    made('v-a', {}, { labels: { a: 'b c' } }),
  ],
  'the status of a volume': [
    made('v-a'),
    merge(`${VOLUMES}/v-a/status`, { status: { phase: 'Available' }, spec: { mountOptions: ['ro'] } }),
    merge(`${VOLUMES}/v-a/status`, { status: { phase: 'Bound' }, metadata: { annotations: { a: 'b' } } }),
    merge(`${VOLUMES}/v-a`, { status: { phase: 'Failed' } }),
    putRequest(`${VOLUMES}/v-a/status`, { ...volume('v-a'), status: { phase: 'Released', message: 'm' } }),
  ],
  'volumes of the kinds that were built in': [
    made('v-aws', {
      csi: undefined,
      awsElasticBlockStore: { volumeID: 'aws://zone/vol-1', fsType: 'ext4', partition: 1 },
    }),
    made('v-gce', { csi: undefined, gcePersistentDisk: { pdName: 'disk' } }),
    made('v-azd', {
      csi: undefined,
      azureDisk: {
        diskName: 'd',
        diskURI: '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d',
        kind: 'Managed',
      },
    }),
    made('v-azd-plain', { csi: undefined, azureDisk: { diskName: 'd', diskURI: 'https://blob/d.vhd' } }),
    made('v-azf', { csi: undefined, azureFile: { secretName: 's', shareName: 'f', secretNamespace: 'n' } }),
    made('v-cin', { csi: undefined, cinder: { volumeID: 'c' } }),
    made('v-vsp', { csi: undefined, vsphereVolume: { volumePath: '[ds] a.vmdk' } }),
    made('v-por', { csi: undefined, portworxVolume: { volumeID: 'p' } }),
    made('v-host', { csi: undefined, hostPath: { path: '/x' } }),
    made('v-nfs', { csi: undefined, nfs: { server: 's', path: '/p' } }),
    made('v-isc', {
      csi: undefined,
      iscsi: { targetPortal: '1.2.3.4:3260', iqn: 'iqn.2001-04.com.example:a', lun: 0 },
    }),
    made('v-rbd', { csi: undefined, rbd: { monitors: ['m'], image: 'i' } }),
    made('v-no', { csi: undefined, awsElasticBlockStore: { volumeID: '' } }),
    made('v-no', { csi: undefined, gcePersistentDisk: { pdName: '' } }),
    made('v-no', { csi: undefined, nfs: { server: '', path: 'p' } }),
  ],
}
