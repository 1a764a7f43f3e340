import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { calls, claimRef, createClaim, provisioned, type Scene, scene } from './scene.ts'

const test = testsOf('provisioner', 'leaks', { only: 'ours' })
const FLAGS = ['--finalize-claims']

async function finalizers(t: TestContext): Promise<readonly string[]> {
  const claim = await t.api.get(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  return (claim.metadata?.finalizers ?? []).filter((name) => name.startsWith('external-provisioner/'))
}

/** Kills the provisioner, deletes the claim, and then starts a new provisioner. */
async function crash(t: TestContext, { sidecar, driver }: Scene): Promise<void> {
  await sidecar.endBy('SIGKILL')
  await t.api.delete(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  driver.on('CreateVolume', { reply: {} })
  await t.sidecar({ driver, args: FLAGS })
}

test('a process that is killed during the call leaks no volume', async (t) => {
  const at = await scene(t, { args: FLAGS, prepare: (each) => each.on('CreateVolume', 'hang') })
  const uid = await createClaim(t)
  await calls(at.driver, 'CreateVolume')
  equal((await finalizers(t)).length, 1)
  await crash(t, at)
  await provisioned(t, uid)
})

test('a process that is killed before the PersistentVolume leaks no volume', async (t) => {
  const at = await scene(t, { args: FLAGS })
  at.sidecar.gate.inject('POST persistentvolumes', { kind: 'wait', for: new Promise(() => {}) })
  const uid = await createClaim(t)
  await calls(at.driver, 'CreateVolume')
  await crash(t, at)
  await provisioned(t, uid)
})

test('the finalizer is removed after the PersistentVolume and after a final answer', async (t) => {
  const { driver } = await scene(t, {
    args: FLAGS,
    prepare: (each) => each.on('CreateVolume', (_, nth) => (nth === 0 ? { code: 13, message: 'no' } : { reply: {} })),
  })
  const uid = await createClaim(t)
  await provisioned(t, uid)
  ok(driver.callsOf('CreateVolume').length === 2)
  const isFree = (names: readonly string[] = []): boolean =>
    !names.some((name) => name.startsWith('external-provisioner/'))
  await t.api.until(PERSISTENT_VOLUME_CLAIMS, claimRef(t), ({ metadata }) => isFree(metadata?.finalizers))
})
