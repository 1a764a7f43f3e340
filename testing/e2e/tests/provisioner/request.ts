import { deepStrictEqual as equal } from 'node:assert'
import { PERSISTENT_VOLUMES, type PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { createdVolume, type Plain } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import {
  calls,
  claimEvent,
  claimRef,
  createClaim,
  createClass,
  eventOf,
  FINALIZER,
  type ProvisionerSetup,
  provision,
  released,
  scene,
  secretParameters,
} from '../../rows/provisioner/scene.ts'
import { createTier } from '../../rows/resizer/scene.ts'

const test = testsOf('provisioner', 'request')
type Spec = NonNullable<PersistentVolumeClaim['spec']>

const pair = (use: string, name: string, namespace = `\${pvc.namespace}`) => secretParameters(use, { name, namespace })

/** Creates a claim and returns its CreateVolume request. */
async function requestOf(t: TestContext, setup: ProvisionerSetup = {}, spec: Partial<Spec> = {}): Promise<Plain> {
  const { driver } = await scene(t, setup)
  await provision(t, { spec })
  return driver.callsOf('CreateVolume')[0]?.request ?? {}
}

test('the CreateVolume request has name, size, capabilities and parameters', async (t) => {
  const parameters = { type: 'ssd', 'csi.storage.k8s.io/fstype': 'xfs' }
  const request = await requestOf(
    t,
    { class: { parameters, mountOptions: ['noatime'] } },
    {
      accessModes: ['ReadWriteOnce', 'ReadWriteMany'],
      resources: { requests: { storage: '1500m' }, limits: { storage: '5Gi' } },
    },
  )
  const mount = { fs_type: 'xfs', mount_flags: ['noatime'] }
  equal(request, {
    name: request['name'],
    capacity_range: { required_bytes: '2' },
    volume_capabilities: [
      { access_mode: { mode: 'SINGLE_NODE_WRITER' }, mount },
      { access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' }, mount },
    ],
    parameters: { type: 'ssd' },
  })
})

test('the CreateVolume request for a block volume has neither file system nor mount options', async (t) => {
  const request = await requestOf(
    t,
    { args: ['--default-fstype=ext4'], class: { mountOptions: ['noatime'] }, controller: ['SINGLE_NODE_MULTI_WRITER'] },
    { volumeMode: 'Block', accessModes: ['ReadWriteOncePod'] },
  )
  equal(request['volume_capabilities'], [{ access_mode: { mode: 'SINGLE_NODE_SINGLE_WRITER' }, block: {} }])
})

test('--extra-create-metadata adds the names of claim and PersistentVolume to CreateVolume', async (t) => {
  const request = await requestOf(t, { args: ['--extra-create-metadata'] })
  const { name } = claimRef(t)
  equal(request['parameters'], {
    'csi.storage.k8s.io/pv/name': request['name'],
    'csi.storage.k8s.io/pvc/name': name,
    'csi.storage.k8s.io/pvc/namespace': t.namespace,
  })
})

test('CreateVolume gets the provisioner Secret of the class, and the PersistentVolume refers to the other Secrets', async (t) => {
  const secret = await t.createSecret({ user: 'u' })
  const parameters = { ...pair('provisioner-', secret.name), ...pair('', `all-\${pvc.name}`) }
  const { driver } = await scene(t, { class: { parameters } })
  const pv = await provision(t)
  equal(driver.callsOf('CreateVolume')[0]?.request['secrets'], { user: 'u' })
  const all = { name: `all-${claimRef(t).name}`, namespace: t.namespace }
  const { controllerPublishSecretRef, nodeStageSecretRef, nodePublishSecretRef } = pv.spec?.csi ?? {}
  const { controllerExpandSecretRef, nodeExpandSecretRef } = pv.spec?.csi ?? {}
  const refs = [controllerPublishSecretRef, nodeStageSecretRef, nodePublishSecretRef]
  equal([...refs, controllerExpandSecretRef, nodeExpandSecretRef], [all, all, all, all, all])
  const { annotations = {} } = pv.metadata ?? {}
  equal(annotations['volume.kubernetes.io/provisioner-deletion-secret-name'], secret.name)
  equal(annotations['volume.kubernetes.io/controller-modify-secret-name'], all.name)
})

/** Claims and classes for which CreateVolume is not called, and the event of the claim. */
const REFUSED: readonly (readonly [text: string, setup: ProvisionerSetup, spec?: Partial<Spec>])[] = [
  [
    'failed to strip CSI Parameters of prefixed keys: found unknown parameter key "csi.storage.k8s.io/x" with reserved namespace csi.storage.k8s.io/',
    { class: { parameters: { 'csi.storage.k8s.io/x': '1' } } },
  ],
  [
    'fstype specified in parameters with both "fstype" and "csi.storage.k8s.io/fstype" keys',
    { class: { parameters: { fsType: 'a', 'csi.storage.k8s.io/fstype': 'b' } } },
  ],
  ['claim Selector is not supported', {}, { selector: { matchLabels: { a: 'b' } } }],
  [
    'failed to get name and namespace template from params: either name and namespace for NodeStage secrets specified, Both must be specified',
    { class: { parameters: { 'csi.storage.k8s.io/node-stage-secret-name': 'a' } } },
  ],
  ...[
    ['a', '', 'NodeStage secrets specified in parameters but value of either namespace or name is empty'],
    [
      `\${pvc.annotations[1]}`,
      'ns',
      `error resolving value "\${pvc.annotations[1]}": invalid tokens: ["pvc.annotations[1]"]`,
    ],
    ['a-$x-$y', 'ns', 'error resolving value "a-$x-$y": invalid tokens: ["x" "y"]'],
    ['a', `\${pvc.name}`, `error resolving value "\${pvc.name}": invalid tokens: ["pvc.name"]`],
    ['A_b', 'ns', '"A_b" is not a valid secret name'],
    ['a', 'x.y', '"x.y" is not a valid namespace name'],
    [`-\${pvc.namespace}`, 'ns', `"-\${pvc.namespace}" resolved to "-default" which is not a valid secret name`],
    ['a', `-\${pvc.namespace}`, `"-\${pvc.namespace}" resolved to "-default" which is not a valid namespace name`],
  ].map(([name = '', namespace = '', text = '']): readonly [string, ProvisionerSetup] => [
    text,
    { class: { parameters: pair('node-stage-', name, namespace) } },
  ]),
  [
    'failed to get name and namespace template from params: Provisioner secrets specified in parameters with both "csi" and "csi.storage.k8s.io/" keys',
    { class: { parameters: { csiProvisionerSecretName: 'a', ...pair('provisioner-', 'a', 'b') } } },
  ],
  [
    'failed to get default name and namespace template from params: either name and namespace for Default secrets specified, Both must be specified',
    { class: { parameters: { 'csi.storage.k8s.io/secret-name': 'a' } } },
  ],
  [
    'volumeattributesclasses.storage.k8s.io "none" not found',
    { controller: ['MODIFY_VOLUME'] },
    { volumeAttributesClassName: 'none' },
  ],
  // The event reports only the first of several faults.
  [
    'error getting secret first in namespace default: secrets "first" not found',
    {
      class: {
        parameters: {
          ...pair('provisioner-', 'first', 'default'),
          'csi.storage.k8s.io/node-stage-secret-name': 'a',
          'csi.storage.k8s.io/x': '1',
        },
      },
    },
  ],
  [
    'failed to strip CSI Parameters of prefixed keys: found unknown parameter key "csi.storage.k8s.io/pv/name"',
    { controller: ['MODIFY_VOLUME'], class: { parameters: { 'csi.storage.k8s.io/pv/name': '1' } } },
    { volumeAttributesClassName: 'none' },
  ],
  [
    'CSI driver does not support VolumeAttributesClass',
    { class: { parameters: { fsType: 'a', 'csi.storage.k8s.io/fstype': 'b' } } },
    { volumeAttributesClassName: 'none', selector: {} },
  ],
  [
    'error getting secret none in namespace default: secrets "none" not found',
    { class: { parameters: pair('provisioner-', 'none', 'default') } },
  ],
  ['volume name prefix cannot be of length 0', { args: ['--volume-name-prefix='] }],
  [
    'CSI driver does not support VolumeAttributesClass: controller MODIFY_VOLUME capability is not reported',
    {},
    { volumeAttributesClassName: 'gold' },
  ],
]

for (const [index, [text, setup, spec = {}]] of REFUSED.entries()) {
  test(`an event reports why a claim is refused before CreateVolume, case ${index}: ${text}`, async (t) => {
    const { driver } = await scene(t, setup)
    if (spec.volumeAttributesClassName !== undefined) t.requires('volumeattributesclasses')
    await createClaim(t, { spec, suffix: `-${index}` })
    const { type, reason } = await claimEvent(t, text, `-${index}`)
    equal([type, reason], ['Warning', 'ProvisioningFailed'])
    equal(driver.callsOf('CreateVolume').length, 0)
  })
}

test('a driver without CREATE_DELETE_VOLUME causes an event for claims and volumes', async (t) => {
  await scene(t, { driver: await t.driver({ controller: [] }) })
  await createClaim(t)
  const text =
    'CSI driver does not support dynamic provisioning: controller CREATE_DELETE_VOLUME capability is not reported'
  await claimEvent(t, text)
  equal((await eventOf(t, await released(t), text)).reason, 'VolumeFailedDelete')
})

test('--volume-name-prefix and --volume-name-uuid-length determine the name of the volume', async (t) => {
  const { driver } = await scene(t, { args: ['--volume-name-prefix=vol', '--volume-name-uuid-length=8'] })
  const uid = await createClaim(t)
  const [call] = await calls(driver, 'CreateVolume')
  const name = `vol-${uid.replaceAll('-', '').slice(0, 8)}`
  equal(call?.request['name'], name)
  await t.api.until(PERSISTENT_VOLUMES, { name }, () => true)
})

test('a class may name Secrets with templates, default parameters or deprecated keys', async (t) => {
  const secret = await t.createSecret({ user: 'u' })
  const parameters = {
    csiProvisionerSecretName: `$\{pvc.annotations['example.com/secret']}`,
    csiProvisionerSecretNamespace: `$\{pvc.namespace}`,
    ...pair('controller-publish-', `cp-$\{pv.name}`, 'other'),
    ...pair('controller-modify-', `m-$\{pvc.namespace}`),
    ...pair('', 'all'),
  }
  const { driver } = await scene(t, { class: { parameters } })
  const pv = await provision(t, { annotations: { 'example.com/secret': secret.name } })
  const { request } = driver.callsOf('CreateVolume')[0] ?? {}
  equal(request?.['secrets'], { user: 'u' })
  // The driver also gets the parameters with the deprecated keys.
  equal(Object.keys(request?.['parameters'] ?? {}).sort(), [
    'csiProvisionerSecretName',
    'csiProvisionerSecretNamespace',
  ])
  const { controllerPublishSecretRef, nodeStageSecretRef } = pv.spec?.csi ?? {}
  equal(controllerPublishSecretRef, { name: `cp-${pv.metadata?.name}`, namespace: 'other' })
  equal(nodeStageSecretRef, { name: 'all', namespace: t.namespace })
  const { annotations = {} } = pv.metadata ?? {}
  equal(annotations['volume.kubernetes.io/controller-modify-secret-name'], `m-${t.namespace}`)
  equal(annotations['volume.kubernetes.io/controller-modify-secret-namespace'], t.namespace)
})

test('CreateVolume gets the parameters of a VolumeAttributesClass, and the PersistentVolume names the class', async (t) => {
  const class_ = await createTier(t, 'gold')
  const { driver } = await scene(t, { controller: ['MODIFY_VOLUME'] })
  const pv = await provision(t, { spec: { volumeAttributesClassName: class_ } })
  equal(driver.callsOf('CreateVolume')[0]?.request['mutable_parameters'], { tier: 'gold' })
  equal(pv.spec?.volumeAttributesClassName, class_)
})

test('the VolumeAttributesClass of a claim is ignored if its feature gate is off', async (t) => {
  t.requires('volumeattributesclasses')
  const { driver } = await scene(t, { args: ['--feature-gates=VolumeAttributesClass=false'] })
  const pv = await provision(t, { spec: { volumeAttributesClassName: 'none' } })
  equal(driver.callsOf('CreateVolume')[0]?.request['mutable_parameters'], undefined)
  equal(pv.spec?.volumeAttributesClassName, undefined)
})

test('an event reports that the VolumeAttributesClass of a claim belongs to another driver', async (t) => {
  const class_ = await createTier(t, 'foreign', 'other.example.com')
  await scene(t, { controller: ['MODIFY_VOLUME'] })
  await createClaim(t, { spec: { volumeAttributesClassName: class_ } })
  const text = `VAC ${class_} referenced in PVC is for driver other.example.com which does not match driver name ${t.driverName}`
  await claimEvent(t, text)
})

/** Access modes of claims, and the modes in the request without and with SINGLE_NODE_MULTI_WRITER. */
const ACCESS = [
  ['ReadWriteOnce', 'SINGLE_NODE_WRITER', 'SINGLE_NODE_MULTI_WRITER'],
  ['ReadOnlyMany', 'MULTI_NODE_READER_ONLY', 'MULTI_NODE_READER_ONLY'],
  ['ReadWriteMany', 'MULTI_NODE_MULTI_WRITER', 'MULTI_NODE_MULTI_WRITER'],
  ['ReadWriteOncePod', 'SINGLE_NODE_WRITER', 'SINGLE_NODE_SINGLE_WRITER'],
] as const

for (const [column, controller] of [
  [1, []],
  [2, ['SINGLE_NODE_MULTI_WRITER']],
] as const) {
  test(`CreateVolume gets the CSI access mode of each claim, with the driver capabilities [${controller}]`, async (t) => {
    const { driver } = await scene(t, { controller: [...controller] })
    for (const [mode] of ACCESS) await provision(t, { suffix: `-${mode.toLowerCase()}`, spec: { accessModes: [mode] } })
    const modes = driver.fieldsOf('CreateVolume', 'volume_capabilities').map((capabilities) => {
      const [capability] = capabilities as { access_mode: { mode: string } }[]
      return capability?.access_mode.mode
    })
    equal(
      modes,
      ACCESS.map((row) => row[column]),
    )
  })
}

test('the file system in CreateVolume comes from the class, from its deprecated key or from --default-fstype', async (t) => {
  const { driver, sidecar } = await scene(t, { args: ['--default-fstype=ext4'] })
  const classes = { empty: { 'csi.storage.k8s.io/fstype': '' }, old: { FSType: 'xfs' }, none: {} }
  for (const [name, parameters] of Object.entries(classes)) {
    await createClass(t, { parameters }, name)
    await provision(t, { suffix: `-${name}`, spec: { storageClassName: t.name(name) } })
  }
  const found = driver.callsOf('CreateVolume').map(({ request }) => {
    const [capability] = request['volume_capabilities'] as { mount: { fs_type: string } }[]
    return [capability?.mount.fs_type, request['parameters']]
  })
  equal(found, [
    ['ext4', undefined],
    ['xfs', { FSType: 'xfs' }],
    ['ext4', undefined],
  ])
  const line =
    '] "fstype" is deprecated and will be removed in a future release, please use "csi.storage.k8s.io/fstype" instead'
  equal(sidecar.linesWith(line).length, 1)
})

/** Sizes in the driver's answer for a claim of 1k, and the capacity of the PersistentVolume. */
const SIZES: readonly (readonly [answer: bigint, capacity: string])[] = [
  [0n, '1k'],
  [1000n, '1k'],
  [1024n, '1Ki'],
  [1500n, '1500'],
  [2_048_000n, '2000Ki'],
  [1_000_000_000n, '1G'],
  [3n * 1024n ** 3n, '3Gi'],
  [9_223_372_036_854_775_807n, '9223372036854775807'],
]

test('the PersistentVolume has the size that the driver returns', async (t) => {
  const { driver } = await scene(t)
  for (const [index, [capacityBytes, capacity]] of SIZES.entries()) {
    driver.on('CreateVolume', ({ request }) => ({ reply: { volume: createdVolume(request, { capacityBytes }) } }))
    const pv = await provision(t, { suffix: `-${index}`, spec: { resources: { requests: { storage: '1k' } } } })
    equal([index, pv.spec?.capacity?.['storage']], [index, capacity])
  }
})

test('the PersistentVolume has the mount options of the class, the volume mode and the volume context', async (t) => {
  const { driver } = await scene(t, {
    args: ['--controller-publish-readonly', '--default-fstype=ext4'],
    class: { mountOptions: ['ro'], reclaimPolicy: 'Retain' },
  })
  const volumeContext = { a: 'b', 'storage.kubernetes.io/csiProvisionerIdentity': 'mine' }
  driver.on('CreateVolume', ({ request }) => ({ reply: { volume: createdVolume(request, { volumeContext }) } }))
  const pv = await provision(t, { spec: { volumeMode: 'Block', accessModes: ['ReadOnlyMany'] } })
  const { mountOptions, volumeMode, accessModes, csi, persistentVolumeReclaimPolicy, nodeAffinity } = pv.spec ?? {}
  equal([mountOptions, volumeMode, accessModes], [['ro'], 'Block', ['ReadOnlyMany']])
  equal([csi?.readOnly, csi?.fsType, csi?.volumeAttributes], [true, undefined, volumeContext])
  equal([persistentVolumeReclaimPolicy, nodeAffinity, pv.metadata?.labels], ['Retain', undefined, undefined])
  const { name = '' } = pv.metadata ?? {}
  await t.api.until(PERSISTENT_VOLUMES, { name }, ({ metadata }) => !metadata?.finalizers?.includes(FINALIZER))
  const two = await provision(t, { suffix: '-two', spec: { accessModes: ['ReadOnlyMany', 'ReadWriteOnce'] } })
  equal([two.spec?.csi?.readOnly, two.spec?.csi?.fsType], [undefined, 'ext4'])
})
