import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  SECRETS,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import { volume } from '../../harness/api/objects.ts'
import type { Fault } from '../../harness/api/wire.ts'
import type { TestContext } from '../../harness/context.ts'
import {
  answering,
  called,
  deleted as deletedObject,
  failure,
  killed,
  merged,
  OK,
  refusing,
  requested,
  secretCreated,
  whileInterfering,
} from '../../rows/actions.ts'
import {
  claimed,
  classCreated,
  phaseSet,
  provisionerRows,
  started,
  volumeAnswer,
  volumeOwned,
  volumeReleased,
} from '../../rows/provisioner/rows.ts'
import { claimRef, FINALIZER, PROVISIONED_BY, secretParameters, setPhase } from '../../rows/provisioner/scene.ts'
import type { Action } from '../../rows/row.ts'

const row = provisionerRows('deletion', import.meta.filename)
const MIGRATED_TO = 'pv.kubernetes.io/migrated-to'
const OTHER = 'other.example.com'
const QUICK = ['--retry-interval-start=200ms', '--retry-interval-max=200ms']
const ONCE = ['--retry-interval-start=1h', '--retry-interval-max=1h']
const RETAIN = { persistentVolumeReclaimPolicy: 'Retain' }

const deletionSecret = (name: string, namespace = 'default') => ({
  'volume.kubernetes.io/provisioner-deletion-secret-name': name,
  'volume.kubernetes.io/provisioner-deletion-secret-namespace': namespace,
})

row('a released PersistentVolume causes a DeleteVolume call, and then the object is deleted', {
  steps: [secretCreated({ user: 'u' }), volumeReleased((t) => ({ annotations: deletionSecret(t.name('secret')) }))],
})
row('the provisioner deletes neither volumes of other provisioners nor volumes with the policy Retain', {
  steps: [
    volumeReleased({ spec: RETAIN }, 'retained'),
    volumeReleased({ annotations: { [PROVISIONED_BY]: OTHER } }, 'foreign'),
  ],
})
row('bound PersistentVolumes have the finalizer of the provisioner, unless their policy is Retain', {
  steps: [volumeOwned(), phaseSet('Bound'), merged(PERSISTENT_VOLUMES, 'pv', { spec: RETAIN })],
})

const attachmentMade = (suffix: string): Action<unknown> => ({
  name: `create VolumeAttachment ${suffix}`,
  run: async (t) =>
    t.received(VOLUME_ATTACHMENTS, await t.createAttachment(suffix, { pv: t.name('pv'), node: t.name(suffix) })),
})
row('a released volume is deleted as soon as its last VolumeAttachment is gone, and not before', {
  setup: { args: ONCE, controller: ['PUBLISH_UNPUBLISH_VOLUME'] },
  differs: ['retry-when-cause-is-gone'],
  steps: [
    attachmentMade('one'),
    volumeReleased(),
    attachmentMade('two'),
    deletedObject(VOLUME_ATTACHMENTS, 'one'),
    deletedObject(VOLUME_ATTACHMENTS, 'two'),
  ],
})
row('a failed DeleteVolume call causes an event and a retry', {
  setup: { answers: { DeleteVolume: [failure(5, 'who?'), OK] } },
  steps: [volumeReleased()],
})
row('DeleteVolume is called for a deleted PersistentVolume only after the PersistentVolume is released', {
  steps: [volumeOwned([FINALIZER]), phaseSet('Bound'), deletedObject(PERSISTENT_VOLUMES, 'pv'), phaseSet('Released')],
})

const FOREIGN = { csi: { driver: OTHER, volumeHandle: 'h' } }
row('the annotations of a PersistentVolume, or else its CSI driver, decide which provisioner deletes the volume', {
  steps: [
    volumeReleased({}, 'of-annotation-and-driver'),
    volumeReleased({ annotations: { [PROVISIONED_BY]: undefined } }, 'of-driver'),
    volumeReleased({ annotations: { [PROVISIONED_BY]: undefined }, spec: FOREIGN }, 'of-another-driver'),
    volumeReleased({ annotations: { [PROVISIONED_BY]: OTHER } }, 'of-another-annotation'),
    volumeReleased(
      (t) => ({ annotations: { [PROVISIONED_BY]: OTHER, [MIGRATED_TO]: t.driverName } }),
      'of-another-annotation-and-migrated',
    ),
    volumeReleased({ spec: FOREIGN }, 'of-annotation'),
    volumeReleased(
      (t) => ({ annotations: { [PROVISIONED_BY]: undefined, [MIGRATED_TO]: t.driverName }, spec: FOREIGN }),
      'of-another-driver-and-migrated',
    ),
  ],
})
row('a released PersistentVolume without a CSI source causes an event', {
  setup: { args: ONCE },
  steps: [volumeReleased({ spec: { csi: null, hostPath: { path: '/tmp' } } })],
})

const ofClaim = (claim: string) => (t: TestContext) => ({
  spec: {
    storageClassName: t.name('class'),
    claimRef: { namespace: t.namespace, name: claim, uid: '1' },
  },
})
const namedByClass = (t: TestContext) => ({
  parameters: secretParameters('', { name: t.name(`for-\${pvc.name}`), namespace: `\${pvc.namespace}` }),
})
row('DeleteVolume gets the Secret that the StorageClass names if the PersistentVolume names no Secret', {
  setup: { args: ONCE, class: namedByClass },
  steps: [
    secretCreated({ user: 'u' }, 'for-a'),
    volumeReleased(ofClaim('a'), 'secret'),
    volumeReleased(ofClaim('b'), 'no-secret'),
    deletedObject(STORAGE_CLASSES, 'class'),
    volumeReleased(ofClaim('a'), 'no-class'),
    classCreated({
      parameters: secretParameters('', { name: `\${pvc.annotations['x']}`, namespace: `\${pvc.namespace}` }),
    }),
    volumeReleased(ofClaim('a'), 'annotated'),
  ],
})
row('a PersistentVolume is deleted although the Secret for DeleteVolume is missing', {
  logs: ['failed to get credentials for volume ', ': error getting secret none in namespace default'],
  steps: [
    volumeReleased({ annotations: deletionSecret('none') }),
    volumeReleased({ annotations: deletionSecret('none', '') }, 'half'),
  ],
})
row('the policy Retain removes the finalizer of the provisioner, even from a PersistentVolume in deletion', {
  setup: { startsLater: true },
  steps: [
    volumeOwned(['example.com/mine', FINALIZER], 'Retain'),
    deletedObject(PERSISTENT_VOLUMES, 'pv'),
    started,
    merged(PERSISTENT_VOLUMES, 'pv', { metadata: { labels: { touched: 'yes' } } }),
  ],
})
row('a deleted PersistentVolume with a foreign finalizer stays, and causes no second DeleteVolume call', {
  steps: [
    volumeOwned([FINALIZER, 'example.com/mine']),
    phaseSet('Released'),
    merged(PERSISTENT_VOLUMES, 'pv', { metadata: { labels: { touched: 'yes' } } }),
  ],
})
for (const kind of ['DELETE', 'PATCH'] as const) {
  row(`after a 409 answer, the provisioner repeats the ${kind} request for a PersistentVolume`, {
    setup: { args: ['--retry-interval-start=100ms'] },
    steps: [
      [refusing(`${kind} persistentvolumes`, refusal(409, 'Conflict', 'changed'), { times: 1 }), volumeReleased()],
    ],
  })
}

const leaking = provisionerRows('leaks', import.meta.filename)
const OURS = { only: 'ours' } as const
const FINALIZES = { args: ['--finalize-claims'] }
const claimDeleted = deletedObject(PERSISTENT_VOLUME_CLAIMS, 'pvc')

leaking('a provisioner that is killed during CreateVolume leaks no volume', {
  ...OURS,
  setup: { ...FINALIZES, answers: { CreateVolume: ['hang', OK] } },
  steps: [[claimed(), called('CreateVolume')], killed, claimDeleted, started],
})
leaking('the provisioner removes its finalizer from a claim only after it has stored the PersistentVolume', {
  ...OURS,
  setup: { ...FINALIZES, answers: { CreateVolume: [failure(4), OK] } },
  steps: [claimed()],
})

/** Requests at which the row kills the provisioner. The number says how many equal requests come before. */
const REQUESTS = [
  ['GET persistentvolumeclaims', 0, 'at the read before it adds the finalizer'],
  ['PUT persistentvolumeclaims', 0, 'while it adds the finalizer'],
  ['POST persistentvolumes', 0, 'while it creates the PersistentVolume'],
  ['GET persistentvolumeclaims', 1, 'at the read after it creates the PersistentVolume'],
  ['PUT persistentvolumeclaims', 1, 'while it removes the finalizer'],
] as const
const FAULTS: Readonly<Record<string, Fault>> = {
  'before the request takes effect': { kind: 'wait', for: new Promise(() => {}) },
  'after the request took effect': { kind: 'loseAnswer' },
}
for (const [kind, after, where] of REQUESTS) {
  for (const [how, fault] of Object.entries(FAULTS)) {
    leaking(`a provisioner that is killed ${where}, ${how}, leaks no volume`, {
      ...OURS,
      setup: FINALIZES,
      steps: [
        [
          // An event might not arrive before the end.
          refusing('WRITE events', refusal(403, 'Forbidden', 'no events')),
          refusing(kind, fault, { after }),
          claimed(),
          requested(kind, { after, effective: fault.kind === 'loseAnswer' }),
          killed,
        ],
        claimDeleted,
        started,
      ],
    })
  }
}

leaking('CreateVolume is repeated with the same request although its inputs are deleted with the claim', {
  ...OURS,
  setup: {
    args: [...FINALIZES.args, ...ONCE],
    class: (t) => ({
      parameters: {
        ...secretParameters('provisioner-', { name: t.name('secret'), namespace: t.namespace }),
        tier: 'one',
      },
      mountOptions: ['ro'],
    }),
    answers: { CreateVolume: [failure(4, 'slow')] },
  },
  steps: [
    secretCreated({ user: 'u' }),
    claimed(),
    deletedObject(STORAGE_CLASSES, 'class'),
    deletedObject(SECRETS, 'secret'),
    classCreated({ parameters: { 'csi.storage.k8s.io/x': '1' } }),
    [answering({ CreateVolume: [OK] }), claimDeleted],
  ],
})

/** PersistentVolumes that another process creates right before the provisioner does. */
const RIVALS: Readonly<Record<string, { readonly handle: string; readonly dying?: true; readonly claim?: string }>> = {
  'kept if another process has stored a PV with the same volume for the claim': { handle: 'mine' },
  'kept if another process has stored a PV with the same volume for another claim': { handle: 'mine', claim: 'other' },
  'deleted if another process has stored a PV with another volume for the claim': { handle: 'other' },
  'deleted only after the deletion of a PV that another process has stored with the same volume': {
    handle: 'mine',
    dying: true,
  },
}
const rivalName = async (t: TestContext): Promise<string> =>
  `pvc-${(await t.api.get(PERSISTENT_VOLUME_CLAIMS, claimRef(t))).metadata?.uid}`
const rivalGone: Action<unknown> = {
  name: 'remove the finalizers of the PersistentVolume of the other process',
  run: async (t) => t.strip(PERSISTENT_VOLUMES, { name: await rivalName(t) }),
}
for (const [fate, { handle, dying = false, claim: uid }] of Object.entries(RIVALS)) {
  const create = async (t: TestContext): Promise<void> => {
    const name = await rivalName(t)
    const claimOfRival = { namespace: t.namespace, name: claimRef(t).name, uid: uid ?? name.slice('pvc-'.length) }
    const fields = {
      claimRef: claimOfRival,
      csi: { volumeHandle: handle },
      metadata: { finalizers: ['example.com/mine'] },
    }
    await t.create(
      PERSISTENT_VOLUMES,
      volume(name, t.driverName, { ...fields, persistentVolumeReclaimPolicy: 'Delete' }),
    )
    if (!dying) return
    await setPhase(t, name, 'Released')
    await t.api.delete(PERSISTENT_VOLUMES, { name })
  }
  leaking(`a new volume is ${fate}`, {
    ...OURS,
    setup: { args: QUICK, answers: { CreateVolume: [volumeAnswer({ volumeId: 'mine' })] } },
    steps: [
      whileInterfering(
        {
          kind: 'POST persistentvolumes',
          change: create,
          // The event of the result.
          isNoticed: (later) =>
            later.some(({ resource, bytes }) => resource === 'events' && !bytes.includes('is provisioning')),
        },
        claimed(),
      ),
      ...(dying ? [rivalGone] : []),
    ],
  })
}
