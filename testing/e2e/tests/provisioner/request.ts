import { deepStrictEqual as equal } from 'node:assert'
import { PERSISTENT_VOLUMES, type PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import { testsOf } from '../../harness/test.ts'
import { secretCreated } from '../../rows/actions.ts'
import {
  type ClaimedParts,
  claimed,
  provisionerRows,
  tierCreated,
  volumeAnswer,
  volumeReleased,
} from '../../rows/provisioner/rows.ts'
import { calls, createClaim, GI, scene, secretParameters } from '../../rows/provisioner/scene.ts'

/** Rows about CreateVolume requests, and about the PersistentVolumes that their answers become. */

type Spec = Partial<NonNullable<PersistentVolumeClaim['spec']>>

const row = provisionerRows('request', import.meta.filename)
const ONCE = ['--retry-interval-start=1h', '--retry-interval-max=1h']

const pair = (use: string, name: string, namespace = `\${pvc.namespace}`) => secretParameters(use, { name, namespace })

row('the CreateVolume request has name, size, capabilities and parameters', {
  setup: {
    class: { parameters: { type: 'ssd', 'csi.storage.k8s.io/fstype': 'xfs' }, mountOptions: ['noatime'] },
  },
  steps: [
    claimed({
      spec: {
        accessModes: ['ReadWriteOnce', 'ReadWriteMany'],
        resources: { requests: { storage: '1500m' }, limits: { storage: '5Gi' } },
      },
    }),
  ],
})
row('the CreateVolume request for a block volume has neither file system nor mount options', {
  setup: {
    args: ['--default-fstype=ext4'],
    class: { mountOptions: ['noatime'] },
    controller: ['SINGLE_NODE_MULTI_WRITER'],
  },
  steps: [claimed({ spec: { volumeMode: 'Block', accessModes: ['ReadWriteOncePod'] } })],
})
row('--extra-create-metadata adds the names of claim and PersistentVolume to CreateVolume', {
  setup: { args: ['--extra-create-metadata'] },
  steps: [claimed()],
})

row('CreateVolume gets the provisioner Secret of the class, and the PersistentVolume refers to the other Secrets', {
  setup: {
    class: (t) => ({ parameters: { ...pair('provisioner-', t.name('secret')), ...pair('', `all-\${pvc.name}`) } }),
  },
  steps: [secretCreated({ user: 'u' }), claimed()],
})
// The driver also gets the parameters with the deprecated keys.
row('a class may name Secrets with templates, default parameters or deprecated keys', {
  setup: {
    class: {
      parameters: {
        csiProvisionerSecretName: `\${pvc.annotations['example.com/secret']}`,
        csiProvisionerSecretNamespace: `\${pvc.namespace}`,
        ...pair('controller-publish-', `cp-\${pv.name}`, 'other'),
        ...pair('controller-modify-', `m-\${pvc.namespace}`),
        ...pair('', 'all'),
      },
    },
  },
  steps: [secretCreated({ user: 'u' }), claimed((t) => ({ annotations: { 'example.com/secret': t.name('secret') } }))],
})

const nodeStage = (name: string, namespace: string): ClaimedParts => ({
  class: { parameters: pair('node-stage-', name, namespace) },
})
const withParameters = (parameters: Readonly<Record<string, string>>): ClaimedParts => ({ class: { parameters } })
const TWO_FILE_SYSTEMS = { fsType: 'a', 'csi.storage.k8s.io/fstype': 'b' }

/** Claims and classes for which CreateVolume is not called. */
const REFUSED: Readonly<Record<string, ClaimedParts>> = {
  'unknown-key': withParameters({ 'csi.storage.k8s.io/x': '1' }),
  'two-file-systems': withParameters(TWO_FILE_SYSTEMS),
  selector: { spec: { selector: { matchLabels: { a: 'b' } } } },
  'no-namespace': withParameters({ 'csi.storage.k8s.io/node-stage-secret-name': 'a' }),
  'empty-namespace': nodeStage('a', ''),
  'annotation-by-index': nodeStage(`\${pvc.annotations[1]}`, 'ns'),
  'two-unknown-tokens': nodeStage('a-$x-$y', 'ns'),
  'token-in-namespace': nodeStage('a', `\${pvc.name}`),
  'invalid-name': nodeStage('A_b', 'ns'),
  'invalid-namespace': nodeStage('a', 'x.y'),
  'resolved-name': nodeStage(`-\${pvc.namespace}`, 'ns'),
  'resolved-namespace': nodeStage('a', `-\${pvc.namespace}`),
  'two-keys': withParameters({ csiProvisionerSecretName: 'a', ...pair('provisioner-', 'a', 'b') }),
  'default-without-namespace': withParameters({ 'csi.storage.k8s.io/secret-name': 'a' }),
  'missing-secret': withParameters(pair('provisioner-', 'none', 'default')),
  'first-of-three-faults': withParameters({
    ...pair('provisioner-', 'first', 'default'),
    'csi.storage.k8s.io/node-stage-secret-name': 'a',
    'csi.storage.k8s.io/x': '1',
  }),
}
row('an event reports why a claim is refused before CreateVolume', {
  setup: { args: ONCE },
  steps: Object.entries(REFUSED).map(([label, fields]) => claimed(fields, `-${label}`)),
})
row('an event reports that the prefix of volume names is empty', {
  setup: { args: [...ONCE, '--volume-name-prefix='] },
  steps: [claimed()],
})
row('a driver without CREATE_DELETE_VOLUME causes an event for claims and volumes', {
  setup: { args: ONCE, driver: { controller: [] } },
  steps: [claimed(), volumeReleased()],
})

row('CreateVolume gets the parameters of a VolumeAttributesClass, and the PersistentVolume names the class', {
  setup: { controller: ['MODIFY_VOLUME'] },
  steps: [tierCreated('gold'), claimed((t) => ({ spec: { volumeAttributesClassName: t.name('gold') } }))],
})
row('the VolumeAttributesClass of a claim is ignored if its feature gate is off', {
  setup: { args: ['--feature-gates=VolumeAttributesClass=false'] },
  steps: [claimed({ spec: { volumeAttributesClassName: 'none' } })],
})
const OF_NONE: Spec = { volumeAttributesClassName: 'none' }
row('an event reports that the VolumeAttributesClass of a claim is missing or belongs to another driver', {
  setup: { args: ONCE, controller: ['MODIFY_VOLUME'] },
  steps: [
    claimed({ spec: OF_NONE }, '-missing'),
    claimed({ ...withParameters({ 'csi.storage.k8s.io/pv/name': '1' }), spec: OF_NONE }, '-after-unknown-key'),
    tierCreated('foreign', 'other.example.com'),
    claimed((t) => ({ spec: { volumeAttributesClassName: t.name('foreign') } }), '-foreign'),
  ],
})
row('an event reports that the driver does not support the VolumeAttributesClass of a claim', {
  setup: { args: ONCE },
  steps: [
    claimed({ spec: OF_NONE }, '-class'),
    claimed({ ...withParameters(TWO_FILE_SYSTEMS), spec: { ...OF_NONE, selector: {} } }, '-first-of-three-faults'),
  ],
})

const MODES = ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'] as const
for (const controller of [[], ['SINGLE_NODE_MULTI_WRITER' as const]]) {
  row(`CreateVolume gets the CSI access mode of each claim, with the driver capabilities [${controller}]`, {
    setup: { controller },
    steps: MODES.map((mode) => claimed({ spec: { accessModes: [mode] } }, `-${mode.toLowerCase()}`)),
  })
}

row('the file system in CreateVolume comes from the class, from its deprecated key or from --default-fstype', {
  setup: { args: ['--default-fstype=ext4'] },
  logs: [
    '] "fstype" is deprecated and will be removed in a future release, please use "csi.storage.k8s.io/fstype" instead',
  ],
  steps: [
    claimed(withParameters({ 'csi.storage.k8s.io/fstype': '' }), '-empty'),
    claimed(withParameters({ FSType: 'xfs' }), '-old'),
    claimed(withParameters({}), '-none'),
  ],
})

/** Sizes in the answer of the driver to a claim of 1k. */
const SIZES = [0n, 1000n, 1024n, 1500n, 2_048_000n, 1_000_000_000n, BigInt(3 * GI), 9_223_372_036_854_775_807n]
row('the PersistentVolume has the size that the driver returns', {
  setup: { answers: { CreateVolume: SIZES.map((capacityBytes) => volumeAnswer({ capacityBytes })) } },
  steps: SIZES.map((size) => claimed({ spec: { resources: { requests: { storage: '1k' } } } }, `-${size}`)),
})

const CONTEXT = { volumeContext: { a: 'b', 'storage.kubernetes.io/csiProvisionerIdentity': 'mine' } }
row('the PersistentVolume has the mount options of the class, the volume mode and the volume context', {
  setup: {
    args: ['--controller-publish-readonly', '--default-fstype=ext4'],
    class: { mountOptions: ['ro'], reclaimPolicy: 'Retain' },
    answers: { CreateVolume: [volumeAnswer(CONTEXT)] },
  },
  steps: [
    claimed({ spec: { volumeMode: 'Block', accessModes: ['ReadOnlyMany'] } }),
    claimed({ spec: { accessModes: ['ReadOnlyMany', 'ReadWriteOnce'] } }, '-two'),
  ],
})

testsOf('provisioner', 'request')(
  '--volume-name-prefix and --volume-name-uuid-length determine the name of the volume',
  async (t) => {
    const { driver } = await scene(t, { args: ['--volume-name-prefix=vol', '--volume-name-uuid-length=8'] })
    const uid = await createClaim(t)
    const [call] = await calls(driver, 'CreateVolume')
    const name = `vol-${uid.replaceAll('-', '').slice(0, 8)}`
    equal(call?.request['name'], name)
    await t.api.until(PERSISTENT_VOLUMES, { name }, () => true)
  },
)
