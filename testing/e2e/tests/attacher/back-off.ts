import { deepStrictEqual as equal, ok } from 'node:assert'
import { VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { partOf } from '../../harness/api/gate.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  attach,
  attached,
  attachedScene,
  detachAndWait,
  detachFailed,
  editStatus,
  gapsOf,
  scene,
  volumeCalls,
  writesTimeAlone,
} from '../../rows/attacher/scene.ts'

/** Tests of when the attacher tries again. The order of its calls and writes is in the rows of this folder. */

const again = testsOf('attacher', 'attach again')

again('the backoff of an attach doubles from --retry-interval-start to --retry-interval-max', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=400ms', '--retry-interval-max=1600ms'] })
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'no' })
  await attach(t, at)
  const tries = t.ours ? 6 : 7
  await eventually('enough tries', () => volumeCalls(at.driver).length >= tries)
  // The Go sidecars often repeat the first try at once, so only their last two waits are checked.
  const gaps = gapsOf(volumeCalls(at.driver)).slice(t.ours ? 0 : -2)
  const expected = t.ours ? [400, 800, 1600, 1600, 1600] : [1600, 1600]
  const text = `gaps ${gaps} instead of ${expected}`
  for (const [index, want] of expected.entries()) ok((gaps[index] ?? 0) >= want * 0.95, text)
  // Calls may start late on a busy machine, but one of the last gaps shows the limit.
  if (t.ours) ok((gaps[0] ?? 0) < 1500, text)
  ok(Math.min(...gaps.slice(-2)) < 3000, text)
})

again('a successful attach resets the retry backoff of its VolumeAttachment', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms', '--retry-interval-max=60s'] })
  let failing = true
  at.driver.on('ControllerPublishVolume', () => (failing ? { code: 13, message: 'no' } : { reply: {} }))
  await attach(t, at)
  await eventually('three tries', () => volumeCalls(at.driver).length >= 4)
  failing = false
  await attached(t)
  failing = true
  const before = volumeCalls(at.driver).length
  await editStatus(t, { attached: false })
  await eventually('three more tries', () => volumeCalls(at.driver).length >= before + 3, { within: 9000 })
})

const deadline = testsOf('attacher', 'deadline')

deadline('a publish and an unpublish have a deadline of 15 s', async (t) => {
  const at = await attachedScene(t)
  await detachAndWait(t, at.va)
  const seconds = volumeCalls(at.driver).map(({ timeoutMs }) => Math.ceil(timeoutMs / 1000))
  equal(new Set(seconds), new Set([15]))
})

const time = testsOf('attacher', 'time of an error')

time('a repeated attach error changes only the time in attachError', async (t) => {
  t.requires('errorCode')
  const at = await scene(t, { args: ['--retry-interval-start=1500ms', '--retry-interval-max=1500ms'] })
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'same' })
  await attach(t, at)
  await eventually('a patch of the time alone', () => writesTimeAlone(at, 'attachError'))
})

time('a repeated detach error changes only the time in detachError', async (t) => {
  const at = await attachedScene(t, { args: ['--retry-interval-start=1200ms', '--retry-interval-max=1200ms'] })
  at.driver.on('ControllerUnpublishVolume', { code: 13, message: 'no' })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  await detachFailed(t)
  await eventually('a patch of the time alone', () => writesTimeAlone(at, 'detachError'))
  equal(partOf(at.attacher.gate.writes('volumeattachments/status').at(-1), 'status', 'attached'), undefined)
})
