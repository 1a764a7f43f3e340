import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { BROKEN, WRITE_FAULTS } from '../../harness/api/write-faults.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import { attach, attachAndWait, attached, scene, unpublishes, untilAttachment, volumeCalls } from './scene.ts'

const test = testsOf('attacher', 'writes that fail')

const ways = Object.keys(WRITE_FAULTS)

/** Both the first write of this kind to each object and the first after its volume is attached. */
for (const resource of ['persistentvolumes', 'volumeattachments', 'volumeattachments/status'] as const) {
  test(`${resource}, each write fault once: attached, detached and released in the end`, async (t) => {
    const at = await scene(t, { args: ['--retry-interval-start=200ms'] })
    const left = new Set<string>()
    const arm = (): void => {
      const kind = resource === 'persistentvolumes' ? 'pv' : 'va'
      for (const way of ways) left.add(t.name(`${kind}-${way}`))
    }
    at.attacher.gate.rules.push((request) => {
      const { method, name = '' } = request
      if (method !== 'PATCH' || request.resource !== resource || !left.delete(name)) return undefined
      return WRITE_FAULTS[name.slice(name.indexOf('-', t.id.length + 1) + 1)]
    })
    arm()
    for (const way of ways) await attach(t, at, { suffix: `-${way}` })
    for (const way of ways) {
      const { status } = await attached(t, t.name(`va-${way}`))
      equal(status, { attached: true }, way)
    }
    arm()
    for (const way of ways) await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name(`va-${way}`) })
    for (const way of ways) await t.api.delete(PERSISTENT_VOLUMES, { name: t.name(`pv-${way}`) })
    for (const way of ways) {
      const gone = async (): Promise<boolean> =>
        (await t.api.find(VOLUME_ATTACHMENTS, { name: t.name(`va-${way}`) })) === undefined &&
        (await t.api.find(PERSISTENT_VOLUMES, { name: t.name(`pv-${way}`) })) === undefined
      await eventually(`the end of ${way}`, gone)
      const calls = volumeCalls(at.driver).filter(({ request }) => request['volume_id'] === t.name(`pv-${way}-handle`))
      equal(calls.at(-1)?.method, 'ControllerUnpublishVolume', way)
      if (t.ours) ok(calls.length <= 3, `${way}: ${calls.length} calls`)
    }
  })
}

test('the status of a detached VA that another finalizer holds, once: saved by the next retry, without a second unpublish', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=200ms'] })
  const { va } = await attachAndWait(t, at, { va: { metadata: { finalizers: ['example.com/a'] } } })
  if (!t.ours) await pause(500)
  at.attacher.gate.inject('PATCH volumeattachments/status', BROKEN, { times: 1 })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: va })
  const pattern = /^could not mark as detached: .*etcdserver: request timed out$/
  await untilAttachment(t, ({ status }) => pattern.test(status?.detachError?.message ?? ''))
  if (t.ours) {
    const held = await untilAttachment(t, ({ status }) => status?.attached === false)
    equal([held.status, held.metadata?.finalizers], [{ attached: false }, ['example.com/a']])
  }
  await never('a second unpublish', () => unpublishes(at).length > 1, 700)
  equal(unpublishes(at).length, 1)
})
