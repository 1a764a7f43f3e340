import { deepStrictEqual as equal } from 'node:assert'
import { PERSISTENT_VOLUMES, type PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import type { Plain } from '../../harness/driver/plain.ts'
import { testsOf } from '../../harness/test.ts'
import { calls, claimRef, createClaim, eventOf, provision, provisioned, type SceneSetup, scene } from './scene.ts'

const test = testsOf('provisioner', 'request')
type Spec = NonNullable<PersistentVolumeClaim['spec']>

/** The request for a claim. */
async function requestOf(t: TestContext, setup: SceneSetup = {}, spec: Partial<Spec> = {}): Promise<Plain> {
  const { driver } = await scene(t, setup)
  await provision(t, { spec })
  return driver.callsOf('CreateVolume')[0]?.request ?? {}
}

test('the request has name, size, capabilities and parameters', async (t) => {
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

test('a block volume has neither file system nor mount options', async (t) => {
  const request = await requestOf(
    t,
    { args: ['--default-fstype=ext4'], class: { mountOptions: ['noatime'] }, controller: ['SINGLE_NODE_MULTI_WRITER'] },
    { volumeMode: 'Block', accessModes: ['ReadWriteOncePod'] },
  )
  equal(request['volume_capabilities'], [{ access_mode: { mode: 'SINGLE_NODE_SINGLE_WRITER' }, block: {} }])
})

test('--extra-create-metadata adds the names of claim and PersistentVolume', async (t) => {
  const request = await requestOf(t, { args: ['--extra-create-metadata'] })
  const { name } = claimRef(t)
  equal(request['parameters'], {
    'csi.storage.k8s.io/pv/name': request['name'],
    'csi.storage.k8s.io/pvc/name': name,
    'csi.storage.k8s.io/pvc/namespace': t.namespace,
  })
})

test('the Secret of the provisioner is sent, and all references are stored', async (t) => {
  const secret = await t.createSecret({ user: 'u' })
  const pair = (use: string, name: string): Record<string, string> => ({
    [`csi.storage.k8s.io/${use}secret-name`]: name,
    [`csi.storage.k8s.io/${use}secret-namespace`]: `\${pvc.namespace}`,
  })
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

/** Claims and classes for which no call is made, and the event that says so. */
const REFUSED: readonly (readonly [text: string, setup: SceneSetup, spec?: Partial<Spec>])[] = [
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
  [
    'error getting secret none in namespace default: secrets "none" not found',
    {
      class: {
        parameters: {
          'csi.storage.k8s.io/provisioner-secret-name': 'none',
          'csi.storage.k8s.io/provisioner-secret-namespace': 'default',
        },
      },
    },
  ],
  ['volume name prefix cannot be of length 0', { args: ['--volume-name-prefix='] }],
  [
    'CSI driver does not support clone operations: controller CLONE_VOLUME capability is not reported',
    {},
    { dataSource: { kind: 'PersistentVolumeClaim', name: 'source' } },
  ],
  [
    'CSI driver does not support VolumeAttributesClass: controller MODIFY_VOLUME capability is not reported',
    {},
    { volumeAttributesClassName: 'gold' },
  ],
]

for (const [index, [text, setup, spec = {}]] of REFUSED.entries()) {
  test(`an event says: ${text}`, async (t) => {
    const { driver } = await scene(t, setup)
    await createClaim(t, { spec, suffix: `-${index}` })
    const { type, reason } = await eventOf(t, claimRef(t, `-${index}`).name, text)
    equal([type, reason], ['Warning', 'ProvisioningFailed'])
    equal(driver.callsOf('CreateVolume').length, 0)
  })
}

test('a Secret that appears is used within a second', { only: 'ours' }, async (t) => {
  const parameters = {
    'csi.storage.k8s.io/provisioner-secret-name': t.name('late'),
    'csi.storage.k8s.io/provisioner-secret-namespace': t.namespace,
  }
  await scene(t, { class: { parameters }, args: ['--retry-interval-start=1m'] })
  const uid = await createClaim(t)
  await eventOf(t, claimRef(t).name, 'error getting secret')
  await t.createSecret({ a: 'b' }, 'late')
  await provisioned(t, uid, 3_000)
})

test('a driver without CREATE_DELETE_VOLUME is an event for claims', async (t) => {
  await scene(t, { driver: await t.driver({ controller: [] }) })
  await createClaim(t)
  const text =
    'CSI driver does not support dynamic provisioning: controller CREATE_DELETE_VOLUME capability is not reported'
  await eventOf(t, claimRef(t).name, text)
})

test('--volume-name-prefix and --volume-name-uuid-length make the name', async (t) => {
  const { driver } = await scene(t, { args: ['--volume-name-prefix=vol', '--volume-name-uuid-length=8'] })
  const uid = await createClaim(t)
  const [call] = await calls(driver, 'CreateVolume')
  const name = `vol-${uid.replaceAll('-', '').slice(0, 8)}`
  equal(call?.request['name'], name)
  await t.api.until(PERSISTENT_VOLUMES, { name }, () => true)
})
