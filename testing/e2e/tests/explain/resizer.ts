import { match } from 'node:assert'
import type { TestContext } from '../../harness/context.ts'
import type { Script } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import {
  createBoundClaim,
  raised,
  ask as request,
  scene,
  startModification,
  statusWord,
  untilClaim,
  untilEvent,
  untilState,
  usedBy,
  want,
} from '../../rows/resizer/scene.ts'
import { type Explanation, explained } from './ask.ts'

/** Tests that stage the stuck states of claims in docs/operations.md, and check the answers of `explain`. */

const test = testsOf('resizer', 'explain')

function explainedClaim(t: TestContext, waitsFor: RegExp): Promise<Explanation> {
  const pvc = t.name('pvc')
  const waiter = `external-resizer of ${t.driverName}`
  return explained(t, ['pvc', pvc], { object: `PersistentVolumeClaim default/${pvc}`, waiter, waitsFor })
}

/** Requests the expansion of a claim. The driver answers ControllerExpandVolume with `answer`. */
async function growing(t: TestContext, answer: Script, meanwhile?: () => Promise<unknown>): Promise<void> {
  const at = await scene(t, { args: ['--timeout=1s'] })
  at.driver.on('ControllerExpandVolume', answer)
  await createBoundClaim(t)
  await meanwhile?.()
  await request(t, '2Gi')
}

test('kubectl csi explain reports a driver that expands a claim only while the claim is unused', async (t) => {
  await growing(t, { code: 9, message: 'in use' }, () => usedBy(t))
  await untilEvent(t, 'only supports offline expansion')
  const { stdout } = await explainedClaim(t, new RegExp(`Pod default/${t.name('pod')} to end`))
  match(stdout, /only supports offline expansion and volume is currently in-use/)
})

test('kubectl csi explain names the missing VolumeAttributesClass of a claim', async (t) => {
  await startModification(t)
  await want(t, t.name('platinum'))
  await untilState(t, 'Pending')
  await explainedClaim(t, new RegExp(`VolumeAttributesClass ${t.name('platinum')}, which does not exist`))
})

test('kubectl csi explain reports a requested size that the driver does not support', async (t) => {
  await growing(t, { code: 11, message: 'too large' })
  await untilClaim(t, (claim) => statusWord(claim) === 'ControllerResizeInfeasible')
  const { stdout } = await explainedClaim(t, /it will never expand the volume to 2Gi/)
  match(stdout, /too large/)
})

test('kubectl csi explain reports a driver that does not answer ControllerExpandVolume', async (t) => {
  await growing(t, 'hang')
  await untilEvent(t, 'DeadlineExceeded')
  await explainedClaim(t, /to answer, which takes longer than the time-out/)
})

test('kubectl csi explain names the missing Secret of an expansion', async (t) => {
  await scene(t)
  const controllerExpandSecretRef = { name: t.name('no'), namespace: 'default' }
  await raised(t, { pv: { csi: { controllerExpandSecretRef } } })
  await untilEvent(t, 'error getting secret')
  await explainedClaim(t, new RegExp(`Secret default/${t.name('no')}, which cannot be read`))
})
