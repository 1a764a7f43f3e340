import { deepStrictEqual as equal, ok } from 'node:assert'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  SECRETS,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import { volume } from '../../harness/api/objects.ts'
import type { Fault } from '../../harness/api/wire.ts'
import type { TestContext } from '../../harness/context.ts'
import { createdVolume, type FakeDriver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { deleted as deletedObject, failure, merged, OK, refusing, secretCreated } from '../../rows/actions.ts'
import {
  classCreated,
  phaseSet,
  provisionerRows,
  started,
  volumeOwned,
  volumeReleased,
} from '../../rows/provisioner/rows.ts'
import {
  calls,
  claimEvent,
  claimRef,
  createClaim,
  createClass,
  deleted,
  FINALIZER,
  PROVISIONED_BY,
  type ProvisionerScene,
  provisionedVolume,
  scene,
  secretParameters,
  setPhase,
} from '../../rows/provisioner/scene.ts'
import type { Action } from '../../rows/row.ts'

const row = provisionerRows('deletion', import.meta.filename)
const MIGRATED_TO = 'pv.kubernetes.io/migrated-to'
const OTHER = 'other.example.com'
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

const leaks = testsOf('provisioner', 'leaks', { only: 'ours' })
const FLAGS = ['--finalize-claims']

/** Reports whether the claim has the finalizer of the provisioner. */
const isHeld = ({ metadata }: PersistentVolumeClaim): boolean =>
  metadata?.finalizers?.some((name) => name.startsWith('external-provisioner/')) === true

/** Kills the provisioner, deletes the claim, and then starts a new provisioner. */
async function crash(t: TestContext, { sidecar, driver }: ProvisionerScene): Promise<void> {
  await sidecar.endBy('SIGKILL')
  await t.api.delete(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  driver.on('CreateVolume', { reply: {} })
  await t.sidecar({ driver, args: FLAGS })
}

leaks('a provisioner that is killed during CreateVolume leaks no volume', async (t) => {
  const at = await scene(t, { args: FLAGS, prepare: (each) => each.on('CreateVolume', 'hang') })
  const uid = await createClaim(t)
  await calls(at.driver, 'CreateVolume')
  ok(isHeld(await t.api.get(PERSISTENT_VOLUME_CLAIMS, claimRef(t))))
  await crash(t, at)
  await provisionedVolume(t, uid)
})

leaks('a provisioner that is killed before it writes the PersistentVolume leaks no volume', async (t) => {
  const at = await scene(t, { args: FLAGS })
  at.sidecar.gate.inject('POST persistentvolumes', { kind: 'wait', for: new Promise(() => {}) })
  const uid = await createClaim(t)
  await calls(at.driver, 'CreateVolume')
  await crash(t, at)
  await provisionedVolume(t, uid)
})

leaks('the provisioner removes its finalizer from a claim only after it has stored the PersistentVolume', async (t) => {
  const { driver } = await scene(t, { args: FLAGS })
  driver.on('CreateVolume', (_, nth) => (nth === 0 ? { code: 13, message: 'no' } : { reply: {} }))
  const uid = await createClaim(t)
  await provisionedVolume(t, uid)
  ok(driver.callsOf('CreateVolume').length === 2)
  await t.api.until(PERSISTENT_VOLUME_CLAIMS, claimRef(t), (claim) => !isHeld(claim))
})

/** Returns the IDs of the driver's volumes. CreateVolume adds an ID, and DeleteVolume removes an ID. */
function keepVolumes(driver: FakeDriver): ReadonlySet<unknown> {
  const volumes = new Set<unknown>()
  driver.on('CreateVolume', ({ request }) => {
    volumes.add(`vol-${request['name']}`)
    return { reply: {} }
  })
  driver.on('DeleteVolume', ({ request }) => {
    volumes.delete(request['volume_id'])
    return { reply: {} }
  })
  return volumes
}

const NEVER: Fault = { kind: 'wait', for: new Promise(() => {}) }
const LOST: Fault = { kind: 'loseAnswer' }

/** Requests at which the test kills the provisioner. The number says how many equal requests come before. */
const REQUESTS = [
  ['GET persistentvolumeclaims', 0, 'at the read before it adds the finalizer'],
  ['PUT persistentvolumeclaims', 0, 'while it adds the finalizer'],
  ['POST persistentvolumes', 0, 'while it creates the PersistentVolume'],
  ['GET persistentvolumeclaims', 1, 'at the read after it creates the PersistentVolume'],
  ['PUT persistentvolumeclaims', 1, 'while it removes the finalizer'],
] as const

for (const [kind, nth, where] of REQUESTS) {
  for (const [fault, how] of [
    [NEVER, 'before the request takes effect'],
    [LOST, 'after the request took effect'],
  ] as const) {
    leaks(`a provisioner that is killed ${where}, ${how}, leaks no volume`, async (t) => {
      const { driver, sidecar } = await scene(t, { args: FLAGS })
      const volumes = keepVolumes(driver)
      let seen = 0
      const { promise: arrived, resolve } = Promise.withResolvers<void>()
      sidecar.gate.inject(kind, fault, {
        where: ({ watch, name }) => {
          if (watch || (kind.startsWith('GET') && name === undefined)) return false
          seen += 1
          if (seen === nth + 1) resolve()
          return seen > nth
        },
      })
      const uid = await createClaim(t)
      await arrived
      if (fault === LOST)
        await eventually('the effect', () => sidecar.gate.requests.some(({ end }) => end !== undefined))
      await sidecar.endBy('SIGKILL')
      await t.api.delete(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
      await t.sidecar({ driver, args: FLAGS })
      await eventually('the end of the claim', async () => {
        const claim = await t.api.find(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
        return claim === undefined || !isHeld(claim)
      })
      const name = `pvc-${uid}`
      if ((await t.api.find(PERSISTENT_VOLUMES, { name })) !== undefined) {
        equal([...volumes], [`vol-${name}`])
        await setPhase(t, name, 'Released')
        await deleted(t, name)
      }
      equal([...volumes], [])
    })
  }
}

leaks('CreateVolume is repeated with the same request although its inputs are deleted with the claim', async (t) => {
  const secret = await t.createSecret({ user: 'u' })
  const parameters = { ...secretParameters('provisioner-', secret), tier: 'one' }
  const prepare = (each: FakeDriver): void => each.on('CreateVolume', { code: 4, message: 'slow' })
  const args = [...FLAGS, '--retry-interval-max=1s']
  const { driver } = await scene(t, { args, class: { parameters, mountOptions: ['ro'] }, prepare })
  const uid = await createClaim(t)
  await claimEvent(t, 'slow')
  await t.api.delete(STORAGE_CLASSES, { name: t.name('class') })
  await t.api.delete(SECRETS, secret)
  await t.api.delete(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  await createClass(t, { parameters: { 'csi.storage.k8s.io/x': '1' } })
  driver.on('CreateVolume', { reply: {} })
  const pv = await provisionedVolume(t, uid)
  equal(pv.spec?.mountOptions, ['ro'])
  const [first, ...others] = driver.requestsOf('CreateVolume')
  for (const other of others) equal(other, first)
  await eventually('the end of the claim', async () => {
    const claim = await t.api.find(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
    return claim === undefined || !isHeld(claim)
  })
})

/** PersistentVolumes that another process creates during CreateVolume, and whether the driver's new volume is kept. */
const RIVALS: readonly (readonly [
  label: string,
  rival: { handle: string; dying?: true; claim?: string },
  kept: boolean,
])[] = [
  ['the same volume for the claim', { handle: 'mine' }, true],
  ['the same volume for another claim', { handle: 'mine', claim: 'other' }, true],
  ['another volume for the claim', { handle: 'other' }, false],
  ['the same volume and a deletion timestamp', { handle: 'mine', dying: true }, false],
]

for (const [label, { handle, dying = false, claim }, kept] of RIVALS) {
  leaks(`a new volume is ${kept ? 'kept' : 'deleted'} if another process has stored a PV with ${label}`, async (t) => {
    const { driver, sidecar } = await scene(t)
    const hold = sidecar.gate.holdWatches('persistentvolumes')
    const { promise: stored, resolve } = Promise.withResolvers<void>()
    driver.on('CreateVolume', ({ request }) => ({
      reply: { volume: createdVolume(request, { volumeId: 'mine' }) },
      after: stored,
    }))
    const uid = await createClaim(t)
    await calls(driver, 'CreateVolume')
    const name = `pvc-${uid}`
    const claimed = { namespace: t.namespace, name: claimRef(t).name, uid: claim ?? uid }
    const fields = { claimRef: claimed, csi: { volumeHandle: handle }, metadata: { finalizers: ['example.com/mine'] } }
    await t.create(
      PERSISTENT_VOLUMES,
      volume(name, t.driverName, { ...fields, persistentVolumeReclaimPolicy: 'Delete' }),
    )
    if (dying) {
      await setPhase(t, name, 'Released')
      await t.api.delete(PERSISTENT_VOLUMES, { name })
    }
    resolve()
    const text = kept && claim === undefined ? 'Successfully provisioned volume' : `the PersistentVolume ${name}`
    await claimEvent(t, text)
    if (dying) {
      // The volume is deleted only after the PersistentVolume that names it is gone.
      equal(driver.fieldsOf('DeleteVolume', 'volume_id'), [])
      await t.strip(PERSISTENT_VOLUMES, { name })
      await calls(driver, 'DeleteVolume')
    }
    equal(driver.fieldsOf('DeleteVolume', 'volume_id'), kept ? [] : ['mine'])
    hold()
  })
}
