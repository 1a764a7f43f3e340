import { deepStrictEqual as equal } from 'node:assert'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { codeBlocks } from '../../../../tools/docs/documents.ts'
import { attachment } from '../../harness/api/objects.ts'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { attached, getAttachment, scene } from '../../rows/attacher/scene.ts'

/** Compares the messages of an attach with the example in docs/architecture.md. */

const DOCUMENT = resolve(import.meta.dirname, '../../../../docs/architecture.md')

interface Message {
  readonly time: number
  /** The sort key of messages in the same millisecond. A driver call precedes the write of its result. */
  readonly rank: number
  readonly text: string
}

const test = testsOf('attacher', 'architecture')

test('an attach sends exactly the messages that docs/architecture.md shows', { only: 'ours' }, async (t) => {
  const { driver, attacher, node } = await scene(t, {
    prepare: (each) => each.on('ControllerPublishVolume', { reply: { publishContext: { device: '/dev/xvdb' } } }),
  })
  const source = { fsType: 'ext4', volumeAttributes: { tier: 'fast' } }
  const pv = await t.createVolume('pv', { csi: source })
  await t.received(PERSISTENT_VOLUMES, await t.api.get(PERSISTENT_VOLUMES, { name: pv }))
  const before = attacher.gate.requests.length
  const va = attachment(t.name('va'), t.driverName, { pv: t.name('pv'), node })
  await t.create(VOLUME_ATTACHMENTS, va)
  await attached(t)
  await attacher.line('finished processing')
  // The sidecar reads `/version` from time to time to check its connections. This read is not part of the attach.
  const ofWork = attacher.gate.requests.slice(before).filter(({ path }) => path !== '/version')
  const requests = ofWork.map(({ time, method, path, resource, body }) => ({
    time,
    rank: resource === 'volumeattachments/status' ? 2 : 0,
    text: `${method}  ${path}\n       ${JSON.stringify(body)}`,
  }))
  const calls = driver.callsOf('ControllerPublishVolume', 'ControllerUnpublishVolume').map((call) => ({
    time: call.start,
    rank: 1,
    text: `CSI    ${call.method}\n       ${JSON.stringify(call.request)}`,
  }))
  const uids = [...(await uidsOf(t)).entries()]
  const inOrder = [...requests, ...calls].sort((a: Message, b: Message) => a.time - b.time || a.rank - b.rank)
  const event = `watch  ADDED va ${JSON.stringify(va.spec)}`
  const seen = [event, ...inOrder.map(({ text }) => text)].join('\n')
  const documented = codeBlocks(readFileSync(DOCUMENT, 'utf8')).find(({ language }) => language === 'text')
  const named = uids.reduce((text, [name, uid]) => text.replaceAll(uid, `uid of ${name}`), seen)
  equal(named.replaceAll(`${t.id}-`, '').replaceAll(`${t.id}.`, '').split('\n'), documented?.text.trimEnd().split('\n'))
})

/** Returns the UIDs of the objects `pv` and `va`. The document shows `uid of pv` in place of a UID. */
async function uidsOf(t: TestContext): Promise<ReadonlyMap<string, string>> {
  const pv = await t.api.get(PERSISTENT_VOLUMES, { name: t.name('pv') })
  const va = await getAttachment(t)
  return new Map([
    ['pv', pv.metadata?.uid ?? ''],
    ['va', va.metadata?.uid ?? ''],
  ])
}
