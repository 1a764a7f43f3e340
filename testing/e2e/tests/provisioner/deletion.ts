import { deepStrictEqual as equal, match, ok } from 'node:assert'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
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
import { eventually, never, pause } from '../../harness/waiting.ts'
import {
  calls,
  claimEvent,
  claimRef,
  createClaim,
  createClass,
  deleted,
  eventOf,
  FINALIZER,
  type ProvisionerScene,
  provisioned,
  released,
  scene,
  secretParameters,
  setPhase,
} from '../../rows/provisioner/scene.ts'

const test = testsOf('provisioner', 'deletion')
const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by'
const MIGRATED_TO = 'pv.kubernetes.io/migrated-to'
const OTHER = 'other.example.com'

const deletionSecret = ({ name, namespace }: { name: string; namespace: string }): object => ({
  'volume.kubernetes.io/provisioner-deletion-secret-name': name,
  'volume.kubernetes.io/provisioner-deletion-secret-namespace': namespace,
})

/** Creates a volume that the driver has provisioned, with this policy and these finalizers. Returns its name. */
function createOwned(
  t: TestContext,
  finalizers: readonly string[] = [],
  persistentVolumeReclaimPolicy: 'Delete' | 'Retain' = 'Delete',
): Promise<string> {
  const metadata = { annotations: { [PROVISIONED_BY]: t.driverName }, finalizers }
  return t.createVolume('pv', { metadata, persistentVolumeReclaimPolicy })
}

/** Waits until the volume has, or no longer has, the finalizer of the provisioner. */
async function untilFinalizer(t: TestContext, name: string, has: boolean): Promise<void> {
  const asExpected = ({ metadata }: PersistentVolume): boolean =>
    (metadata?.finalizers ?? []).includes(FINALIZER) === has
  await t.api.until(PERSISTENT_VOLUMES, { name }, asExpected)
}

test('a released PersistentVolume causes one DeleteVolume call, and then the object is deleted', async (t) => {
  const { driver } = await scene(t)
  const secret = await t.createSecret({ user: 'u' })
  const name = await released(t, {
    annotations: deletionSecret(secret),
  })
  await deleted(t, name)
  const [call] = driver.callsOf('DeleteVolume')
  equal(call?.request, { volume_id: `${name}-handle`, secrets: { user: 'u' } })
  await pause(300)
  if (t.ours) equal(driver.callsOf('DeleteVolume').length, 1)
})

test('the provisioner deletes neither volumes of other provisioners nor volumes with the policy Retain', async (t) => {
  const { driver } = await scene(t)
  await released(t, { what: 'retained', spec: { persistentVolumeReclaimPolicy: 'Retain' } })
  await released(t, { what: 'foreign', annotations: { 'pv.kubernetes.io/provisioned-by': 'other.example.com' } })
  const name = await released(t)
  await deleted(t, name)
  const volumes = driver.fieldsOf('DeleteVolume', 'volume_id')
  equal([...new Set(volumes)], [`${name}-handle`])
})

test('bound PersistentVolumes have the finalizer of the provisioner, unless their policy is Retain', async (t) => {
  await scene(t)
  const name = await createOwned(t)
  await setPhase(t, name, 'Bound')
  await untilFinalizer(t, name, true)
  await t.api.merge(PERSISTENT_VOLUMES, { name }, { spec: { persistentVolumeReclaimPolicy: 'Retain' } })
  await untilFinalizer(t, name, false)
})

test('a released volume is deleted as soon as its last VolumeAttachment is gone, and not before', async (t) => {
  const { driver, sidecar } = await scene(t, {
    controller: ['PUBLISH_UNPUBLISH_VOLUME'],
    // The Go sidecar retries the deletion only when the back-off ends, so its back-off is short.
    args: [`--retry-interval-start=${t.ours ? '1m' : '2s'}`],
  })
  await t.watching(sidecar, 'volumeattachments')
  const name = t.name('pv')
  for (const what of ['one', 'two']) await t.createAttachment(what, { pv: name, node: what })
  await pause(200)
  await released(t)
  const event = await eventOf(t, name, `persistentvolume ${name} is still attached to node `)
  equal([event.type, event.reason], ['Normal', 'VolumeDelete'])
  match(event.message ?? '', /(one|two), waiting for detach$/)
  equal(driver.callsOf('DeleteVolume').length, 0)
  for (const what of ['one', 'two']) await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name(what) })
  await deleted(t, name, t.ours ? 2_500 : undefined)
})

test('a failed DeleteVolume call causes an event and a retry', async (t) => {
  const { driver } = await scene(t)
  driver.on('DeleteVolume', (_, nth) => (nth === 0 ? { code: 5, message: 'who?' } : { reply: {} }))
  const name = await released(t)
  const { type, reason } = await eventOf(t, name, 'rpc error: code = NotFound desc = who?')
  equal([type, reason], ['Warning', 'VolumeFailedDelete'])
  await deleted(t, name)
  equal(driver.callsOf('DeleteVolume').length >= 2, true)
})

test('DeleteVolume is called for a deleted PersistentVolume only after the PersistentVolume is released', async (t) => {
  const { driver } = await scene(t)
  const name = await createOwned(t, [FINALIZER])
  await setPhase(t, name, 'Bound')
  await t.api.delete(PERSISTENT_VOLUMES, { name })
  await never('a call', () => driver.callsOf('DeleteVolume').length > 0, 500)
  await setPhase(t, name, 'Released')
  await deleted(t, name)
})

test('the annotations of a PersistentVolume, or else its CSI driver, decide which provisioner deletes the volume', async (t) => {
  const { driver } = await scene(t)
  const foreign = { csi: { driver: OTHER, volumeHandle: 'h' } }
  const cases: readonly (readonly [what: string, annotations: object, spec: object, ours: boolean])[] = [
    ['a', {}, {}, true],
    ['b', { [PROVISIONED_BY]: undefined }, {}, true],
    ['c', { [PROVISIONED_BY]: undefined }, foreign, false],
    ['d', { [PROVISIONED_BY]: OTHER }, {}, false],
    ['e', { [PROVISIONED_BY]: OTHER, [MIGRATED_TO]: t.driverName }, {}, true],
    ['f', {}, foreign, true],
    ['g', { [PROVISIONED_BY]: undefined, [MIGRATED_TO]: t.driverName }, foreign, false],
  ]
  for (const [what, annotations, spec] of cases) await released(t, { what, annotations, spec })
  for (const [what, , , ours] of cases) if (ours) await deleted(t, t.name(what))
  const handles = new Set(driver.fieldsOf('DeleteVolume', 'volume_id'))
  equal(handles, new Set(['a', 'b', 'e'].map((what) => `${t.name(what)}-handle`).concat('h')))
})

test('the provisioner calls DeleteVolume, then deletes the PersistentVolume, then removes its finalizer', async (t) => {
  const { driver, sidecar } = await scene(t)
  const name = await released(t)
  await deleted(t, name)
  const [call] = driver.callsOf('DeleteVolume')
  const writes = (await sidecar.gate.settledWrites('persistentvolumes')).slice(0, 2)
  equal([writes[0]?.method, writes[1]?.method], ['DELETE', 'PATCH'])
  equal((writes[0]?.time ?? 0) >= (call?.end ?? Number.POSITIVE_INFINITY), true)
})

test('a released PersistentVolume without a CSI source causes an event', async (t) => {
  await scene(t)
  const name = await released(t, { spec: { csi: null, hostPath: { path: '/tmp' } } })
  const { type, reason } = await eventOf(t, name, 'invalid CSI PV')
  equal([type, reason], ['Warning', 'VolumeFailedDelete'])
})

test('DeleteVolume gets the Secret that the StorageClass names if the PersistentVolume names no Secret', async (t) => {
  const parameters = secretParameters('', { name: t.name(`for-\${pvc.name}`), namespace: `\${pvc.namespace}` })
  const { driver } = await scene(t, { class: { parameters } })
  await t.createSecret({ user: 'u' }, 'for-a')
  const spec = (claim: string): object => ({
    storageClassName: t.name('class'),
    claimRef: { namespace: t.namespace, name: claim, uid: '1' },
  })
  await deleted(t, await released(t, { what: 'secret', spec: spec('a') }))
  await deleted(t, await released(t, { what: 'no-secret', spec: spec('b') }))
  await t.api.delete(STORAGE_CLASSES, { name: t.name('class') })
  await deleted(t, await released(t, { what: 'no-class', spec: spec('a') }))
  const secrets = new Map(
    driver.callsOf('DeleteVolume').map(({ request }) => [request['volume_id'], request['secrets']]),
  )
  equal([...secrets.values()], [{ user: 'u' }, undefined, undefined])
  await createClass(t, {
    parameters: { ...parameters, 'csi.storage.k8s.io/secret-name': `\${pvc.annotations['x']}` },
  })
  const name = await released(t, { what: 'annotated', spec: spec('a') })
  const why = `error resolving value "\${pvc.annotations['x']}": invalid tokens: ["pvc.annotations['x']"]`
  await eventOf(t, name, `failed to get secretreference for volume ${name}: ${why}`)
})

test('a PersistentVolume is deleted although the Secret for DeleteVolume is missing', async (t) => {
  const { driver, sidecar } = await scene(t)
  const annotations = deletionSecret({ name: 'none', namespace: t.namespace })
  const gone = await released(t, { what: 'gone', annotations })
  await deleted(t, gone)
  await deleted(t, await released(t, { what: 'half', annotations: deletionSecret({ name: 'none', namespace: '' }) }))
  equal(new Set(driver.fieldsOf('DeleteVolume', 'secrets')), new Set([undefined]))
  await sidecar.line(`failed to get credentials for volume ${gone}: error getting secret none in namespace default`)
})

test('the policy Retain removes the finalizer of the provisioner, even from a PersistentVolume in deletion', async (t) => {
  const { driver } = await scene(t)
  const finalizers = ['example.com/mine', FINALIZER]
  const name = await createOwned(t, finalizers, 'Retain')
  await untilFinalizer(t, name, false)
  const { metadata } = await t.api.get(PERSISTENT_VOLUMES, { name })
  equal(metadata?.finalizers?.includes('example.com/mine'), true)
  await t.api.merge(PERSISTENT_VOLUMES, { name }, { metadata: { finalizers } })
  await t.api.delete(PERSISTENT_VOLUMES, { name })
  await untilFinalizer(t, name, false)
  equal(driver.callsOf('DeleteVolume').length, 0)
})

test('a deleted PersistentVolume with a foreign finalizer stays, and causes no second DeleteVolume call', async (t) => {
  const { driver } = await scene(t)
  const name = await createOwned(t, [FINALIZER, 'example.com/mine'])
  await setPhase(t, name, 'Released')
  await deleted(t, name)
  await pause(300)
  const { length } = driver.callsOf('DeleteVolume')
  await t.api.merge(PERSISTENT_VOLUMES, { name }, { metadata: { labels: { touched: '1' } } })
  await never('another call', () => driver.callsOf('DeleteVolume').length > length, 500)
})

for (const kind of ['DELETE', 'PATCH'] as const) {
  test(`after a 409 answer, the provisioner repeats the ${kind} request for a PersistentVolume`, async (t) => {
    const { driver, sidecar } = await scene(t, { args: ['--retry-interval-start=100ms'] })
    const refused = sidecar.gate.inject(`${kind} persistentvolumes`, refusal(409, 'Conflict', 'changed'), { times: 1 })
    await deleted(t, await released(t))
    equal([refused.count, t.ours ? driver.callsOf('DeleteVolume').length : 1], [1, 1])
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
  await provisioned(t, uid)
})

leaks('a provisioner that is killed before it writes the PersistentVolume leaks no volume', async (t) => {
  const at = await scene(t, { args: FLAGS })
  at.sidecar.gate.inject('POST persistentvolumes', { kind: 'wait', for: new Promise(() => {}) })
  const uid = await createClaim(t)
  await calls(at.driver, 'CreateVolume')
  await crash(t, at)
  await provisioned(t, uid)
})

leaks('the provisioner removes its finalizer from a claim only after it has stored the PersistentVolume', async (t) => {
  const { driver } = await scene(t, { args: FLAGS })
  driver.on('CreateVolume', (_, nth) => (nth === 0 ? { code: 13, message: 'no' } : { reply: {} }))
  const uid = await createClaim(t)
  await provisioned(t, uid)
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
      const { promise: reached, resolve } = Promise.withResolvers<void>()
      sidecar.gate.inject(kind, fault, {
        where: ({ watch, name }) => {
          if (watch || (kind.startsWith('GET') && name === undefined)) return false
          seen += 1
          if (seen === nth + 1) resolve()
          return seen > nth
        },
      })
      const uid = await createClaim(t)
      await reached
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
  const pv = await provisioned(t, uid)
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
  what: string,
  rival: { handle: string; dying?: true; claim?: string },
  kept: boolean,
])[] = [
  ['the same volume for the claim', { handle: 'mine' }, true],
  ['the same volume for another claim', { handle: 'mine', claim: 'other' }, true],
  ['another volume for the claim', { handle: 'other' }, false],
  ['the same volume and a deletion timestamp', { handle: 'mine', dying: true }, false],
]

for (const [what, { handle, dying = false, claim }, kept] of RIVALS) {
  leaks(`a new volume is ${kept ? 'kept' : 'deleted'} if another process has stored a PV with ${what}`, async (t) => {
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
    const parts = { claimRef: claimed, csi: { volumeHandle: handle }, metadata: { finalizers: ['example.com/mine'] } }
    await t.create(
      PERSISTENT_VOLUMES,
      volume(name, t.driverName, { ...parts, persistentVolumeReclaimPolicy: 'Delete' }),
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
