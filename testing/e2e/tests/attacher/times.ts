import { deepStrictEqual as equal } from 'node:assert'
import { VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { partOf } from '../../harness/api/gate.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { attachedScene, detachAndWait, detachFailed, volumeCalls, writesTimeAlone } from '../../rows/attacher/scene.ts'

/** Tests of deadlines and times. The order of calls and writes is in the rows of this folder. */

const deadline = testsOf('attacher', 'deadline')

deadline('a publish and an unpublish have a deadline of 15 s', async (t) => {
  const at = await attachedScene(t)
  await detachAndWait(t, at.va)
  const seconds = volumeCalls(at.driver).map(({ timeoutMs }) => Math.ceil(timeoutMs / 1000))
  equal(new Set(seconds), new Set([15]))
})

const time = testsOf('attacher', 'time of an error')

time('a repeated detach error changes only the time in detachError', async (t) => {
  const at = await attachedScene(t, { args: ['--retry-interval-start=1200ms', '--retry-interval-max=1200ms'] })
  at.driver.on('ControllerUnpublishVolume', { code: 13, message: 'no' })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  await detachFailed(t)
  await eventually('a patch of the time alone', () => writesTimeAlone(at, 'detachError'))
  equal(partOf(at.attacher.gate.writes('volumeattachments/status').at(-1), 'status', 'attached'), undefined)
})
