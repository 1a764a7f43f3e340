import { deepStrictEqual as equal, ok } from 'node:assert'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  STORAGE_CLASSES,
} from '@csi-sidecars/kube-types'
import { volume } from '../../harness/api/objects.ts'
import type { Fault } from '../../harness/api/wire.ts'
import type { TestContext } from '../../harness/context.ts'
import { createdVolume, type Driver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  calls,
  claimEvent,
  claimRef,
  createClaim,
  createClass,
  deleted,
  provisioned,
  type Scene,
  scene,
  setPhase,
} from './scene.ts'

const test = testsOf('provisioner', 'leaks', { only: 'ours' })
const FLAGS = ['--finalize-claims']

/** Reports whether the claim has the finalizer of the provisioner. */
const isHeld = ({ metadata }: PersistentVolumeClaim): boolean =>
  metadata?.finalizers?.some((name) => name.startsWith('external-provisioner/')) === true

/** Kills the provisioner, deletes the claim, and then starts a new provisioner. */
async function crash(t: TestContext, { sidecar, driver }: Scene): Promise<void> {
  await sidecar.endBy('SIGKILL')
  await t.api.delete(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  driver.on('CreateVolume', { reply: {} })
  await t.sidecar({ driver, args: FLAGS })
}

test('a process that is killed during CreateVolume leaks no volume', async (t) => {
  const at = await scene(t, { args: FLAGS, prepare: (each) => each.on('CreateVolume', 'hang') })
  const uid = await createClaim(t)
  await calls(at.driver, 'CreateVolume')
  ok(isHeld(await t.api.get(PERSISTENT_VOLUME_CLAIMS, claimRef(t))))
  await crash(t, at)
  await provisioned(t, uid)
})

test('a process that is killed before the PersistentVolume is stored leaks no volume', async (t) => {
  const at = await scene(t, { args: FLAGS })
  at.sidecar.gate.inject('POST persistentvolumes', { kind: 'wait', for: new Promise(() => {}) })
  const uid = await createClaim(t)
  await calls(at.driver, 'CreateVolume')
  await crash(t, at)
  await provisioned(t, uid)
})

test('the finalizer of the claim is removed after the PersistentVolume is stored', async (t) => {
  const { driver } = await scene(t, { args: FLAGS })
  driver.on('CreateVolume', (_, nth) => (nth === 0 ? { code: 13, message: 'no' } : { reply: {} }))
  const uid = await createClaim(t)
  await provisioned(t, uid)
  ok(driver.callsOf('CreateVolume').length === 2)
  await t.api.until(PERSISTENT_VOLUME_CLAIMS, claimRef(t), (claim) => !isHeld(claim))
})

/** Makes the driver remember its volumes, and returns the IDs of the existing volumes. */
function keepVolumes(driver: Driver): ReadonlySet<unknown> {
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

/** The requests of a creation. The number counts the earlier requests of the same kind. */
const REQUESTS = [
  ['GET persistentvolumeclaims', 0, 'before the finalizer'],
  ['PUT persistentvolumeclaims', 0, 'at the finalizer'],
  ['POST persistentvolumes', 0, 'at the PersistentVolume'],
  ['GET persistentvolumeclaims', 1, 'after the PersistentVolume'],
  ['PUT persistentvolumeclaims', 1, 'at the end of the finalizer'],
] as const

for (const [kind, nth, where] of REQUESTS) {
  for (const [fault, how] of [
    [NEVER, 'before the request takes effect'],
    [LOST, 'after the request took effect'],
  ] as const) {
    test(`a process killed ${where}, ${how}, leaks no volume`, async (t) => {
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

test('a running creation of a deleted claim is finished although its class has become invalid', async (t) => {
  const { driver } = await scene(t, { args: ['--retry-interval-max=1s'] })
  driver.on('CreateVolume', { code: 4, message: 'slow' })
  const uid = await createClaim(t)
  await claimEvent(t, 'slow')
  await t.api.delete(STORAGE_CLASSES, { name: t.name('class') })
  await createClass(t, { parameters: { 'csi.storage.k8s.io/x': '1' } })
  await claimEvent(t, 'found unknown parameter key "csi.storage.k8s.io/x"')
  driver.on('CreateVolume', { reply: {} })
  await t.strip(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  await provisioned(t, uid)
})

/** PersistentVolumes that another process stores during a creation, and whether the new volume is kept. */
const RIVALS: readonly (readonly [
  what: string,
  rival: { handle: string; dying?: true; claim?: string },
  kept: boolean,
])[] = [
  ['the same volume for the claim', { handle: 'mine' }, true],
  ['the same volume for another claim', { handle: 'mine', claim: 'other' }, true],
  ['another volume for the claim', { handle: 'other' }, false],
  ['the same volume, and is being deleted', { handle: 'mine', dying: true }, false],
]

for (const [what, { handle, dying = false, claim }, kept] of RIVALS) {
  test(`decides about a new volume if the PersistentVolume of its name refers to ${what}`, async (t) => {
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
    equal(driver.fieldsOf('DeleteVolume', 'volume_id'), kept ? [] : ['mine'])
    hold()
  })
}
