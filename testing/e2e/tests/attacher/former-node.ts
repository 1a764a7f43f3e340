import { deepStrictEqual as equal } from 'node:assert'
import { CSI_NODES } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { pause } from '../../harness/waiting.ts'
import { ATTACH, type AttacherScene, attachAndWait, detachAndWait, LISTS, scene } from './scene.ts'

/** A node that is recreated under its name with another id, and an attacher that has been restarted since. */

const test = testsOf('attacher', 'former node', { only: 'ours' })
/** Against the originals too. */
const shared = testsOf('attacher', 'former node')

const ONCE = ['--reconcile-sync=1h']
const CALLS = ['ControllerPublishVolume', 'ControllerUnpublishVolume', 'ListVolumes']

/** The volume is published under the former id of the node, which now has another one. */
async function recreatedNode(
  t: TestContext,
  listing: { readonly where: readonly string[] } | undefined,
): Promise<AttacherScene & { readonly va: string }> {
  const volumeId = `${t.name('pv')}-handle`
  const entry = { volume: { volumeId, capacityBytes: 0n, volumeContext: {}, accessibleTopology: [] } }
  const at = await scene(t, {
    controller: listing ? LISTS : ATTACH,
    prepare: (driver) =>
      driver.on('ListVolumes', () => ({
        reply: { entries: [{ ...entry, status: { publishedNodeIds: listing?.where ?? [] } }], nextToken: '' },
      })),
    args: ONCE,
  })
  const { va } = await attachAndWait(t, at)
  await at.attacher.endBy('SIGTERM')
  await t.api.delete(CSI_NODES, { name: at.node })
  await t.createNode('node', { id: `${at.node}-later` })
  return { ...at, va }
}

/** The calls of the detach by another process, without the prefix of this test's names; the first listing is its comparison's. */
async function detachedBy(t: TestContext, { driver, va }: AttacherScene & { readonly va: string }): Promise<string[]> {
  await t.running({ driver, args: ONCE }, 'volumeattachments', 'csinodes')
  await pause(1000)
  const before = driver.callsOf(...CALLS).length
  await detachAndWait(t, va)
  const calls = driver.callsOf(...CALLS).slice(before)
  return calls.map(({ method, request }) => `${method} ${request['node_id'] ?? ''}`.trim().replaceAll(`${t.id}-`, ''))
}

test('still listed there: unpublished from both ids', async (t) => {
  const at = await recreatedNode(t, { where: [`${t.name('node')}-id`] })
  equal(await detachedBy(t, at), [
    'ControllerUnpublishVolume node-later',
    'ListVolumes',
    'ControllerUnpublishVolume node-id',
  ])
  const line = await t.sidecars.at(-1)?.line('"Detaching from the former id of the node too"')
  equal([line?.includes(`nodeID="${at.node}-later"`), line?.includes(`formerNodeID="${at.node}-id"`)], [true, true])
})

test('not listed there: unpublished from the new id alone', async (t) => {
  const at = await recreatedNode(t, { where: ['elsewhere'] })
  equal(await detachedBy(t, at), ['ControllerUnpublishVolume node-later', 'ListVolumes'])
})

test('the former id belongs to another node: unpublished from the new id alone', async (t) => {
  const at = await recreatedNode(t, { where: [`${t.name('node')}-id`] })
  await t.createNode('other', { id: `${at.node}-id` })
  equal(await detachedBy(t, at), ['ControllerUnpublishVolume node-later'])
})

shared('a driver that cannot list: unpublished from the new id alone', async (t) => {
  const at = await recreatedNode(t, undefined)
  equal(await detachedBy(t, at), ['ControllerUnpublishVolume node-later'])
})
