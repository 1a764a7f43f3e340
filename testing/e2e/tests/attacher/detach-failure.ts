import { deepStrictEqual as equal, ok } from 'node:assert'
import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { partOf } from '../../harness/api/gate.ts'
import { ETCD_TIRED } from '../../harness/api/write-faults.ts'
import { assertContains } from '../../harness/process/log-lines.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import { attachedScene, detachFailed } from './detach-scene.ts'
import { detachAndWait, gapsOf, unpublishes, writesTimeAlone } from './scene.ts'

const test = testsOf('attacher', 'detach')

test('without CSINode and annotation: detachError, and the VA stays', async (t) => {
  const at = await attachedScene(t)
  await t.api.merge(VOLUME_ATTACHMENTS, { name: at.va }, { metadata: { annotations: null } })
  await t.api.delete(CSI_NODES, { name: at.node })
  await pause(300)
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  const { status } = await detachFailed(t)
  equal(status?.detachError?.message, `csinode.storage.k8s.io "${at.node}" not found`)
})

test('a missing PV blocks the detach, and the status says so', async (t) => {
  const at = await attachedScene(t, { args: ['--retry-interval-start=200ms'] })
  await t.strip(PERSISTENT_VOLUMES, { name: at.pv })
  await pause(300)
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  const { status, metadata } = await detachFailed(t)
  equal(status?.detachError?.message, `persistentvolume "${at.pv}" not found`)
  equal(metadata?.finalizers, [at.finalizer])
  equal(unpublishes(at), [])
})

for (const [code, name] of [
  [5, 'NotFound'],
  [13, 'Internal'],
  [4, 'DeadlineExceeded'],
] as const) {
  test(`${name} from unpublish: detachError without errorCode, all stays, retried with backoff`, async (t) => {
    const at = await attachedScene(t, { args: ['--retry-interval-start=500ms'] })
    at.driver.on('ControllerUnpublishVolume', (_, nth) => (nth < 2 ? { code, message: 'no' } : { reply: {} }))
    await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
    const { status, metadata } = await detachFailed(t)
    equal(status?.detachError?.message, `rpc error: code = ${name} desc = no`)
    equal(status?.detachError?.errorCode, undefined)
    equal(status?.attached, true)
    equal(metadata?.finalizers, [at.finalizer])
    await t.api.untilGone(VOLUME_ATTACHMENTS, { name: at.va })
    const [first = 0, second = 0] = gapsOf(unpublishes(at))
    ok(first >= 480 && second >= 960, `retried after ${first} and ${second} ms`)
    const line = await at.attacher.line('"Error processing"')
    assertContains(line, `err="failed to detach: rpc error: code = ${name} desc = no"`)
  })
}

test('success after a failure clears detachError', async (t) => {
  const at = await attachedScene(t, {
    args: ['--retry-interval-start=300ms'],
    va: { metadata: { finalizers: ['example.com/a'] } },
  })
  at.driver.on('ControllerUnpublishVolume', (_, nth) => (nth < 1 ? { code: 13, message: 'no' } : { reply: {} }))
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  await detachFailed(t)
  const va = await t.api.until(VOLUME_ATTACHMENTS, { name: at.va }, ({ status }) => status?.attached === false)
  equal(va.status, { attached: false })
})

test('the finalizer cannot be removed: detachError, and unpublished again', async (t) => {
  const at = await attachedScene(t, { args: ['--retry-interval-start=300ms'] })
  at.attacher.gate.inject('PATCH volumeattachments', ETCD_TIRED, { times: 1 })
  await detachAndWait(t, at.va)
  equal(unpublishes(at).length, 2)
  const failure = at.attacher.gate.writes('volumeattachments/status').find(({ bytes }) => bytes.includes('detachError'))
  equal(partOf(failure, 'status', 'detachError', 'message'), 'could not mark as detached: etcd is tired')
})

test('a detach error stays in the status while the retries continue, and only its time changes', async (t) => {
  const at = await attachedScene(t, { args: ['--retry-interval-start=1200ms', '--retry-interval-max=1200ms'] })
  at.driver.on('ControllerUnpublishVolume', { code: 13, message: 'no' })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  await detachFailed(t)
  await eventually('a patch of the time alone', () => writesTimeAlone(at, 'detachError'))
  equal(partOf(at.attacher.gate.writes('volumeattachments/status').at(-1), 'status', 'attached'), undefined)
})

testsOf('attacher', 'writes that fail')(
  'the status of a detached VA that another finalizer holds, once: saved by the next retry, without a second unpublish',
  async (t) => {
    const at = await attachedScene(t, {
      args: ['--retry-interval-start=200ms'],
      va: { metadata: { finalizers: ['example.com/a'] } },
    })
    at.attacher.gate.inject('PATCH volumeattachments/status', ETCD_TIRED, { times: 1 })
    await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
    await detachFailed(t, 'could not mark as detached: etcd is tired')
    if (t.ours) {
      const held = await t.api.until(VOLUME_ATTACHMENTS, { name: at.va }, ({ status }) => status?.attached === false)
      equal([held.status, held.metadata?.finalizers], [{ attached: false }, ['example.com/a']])
    }
    await never('a second unpublish', () => unpublishes(at).length > 1, 700)
    equal(unpublishes(at).length, 1)
  },
)
