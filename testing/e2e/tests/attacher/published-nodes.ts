import { deepStrictEqual as equal, ok } from 'node:assert'
import { isDeepStrictEqual } from 'node:util'
import type { TestContext } from '../../harness/context.ts'
import type { DriverReply } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { type Answers, answering, failure } from '../../rows/actions.ts'
import { attach, attacherRows, attachmentCreated, comparing, detach, listings, page } from '../../rows/attacher/rows.ts'
import { attachAndWait, editStatus, LISTS, scene, untilAttachment, volumeCalls } from '../../rows/attacher/scene.ts'

/** Rows about the comparison of VolumeAttachments with ListVolumes. */

const row = attacherRows('published nodes', import.meta.filename)

/** Answers of a driver that publishes the volume `pv` to a node. */
const listed =
  (node: string, more: Answers = {}) =>
  (t: TestContext): Answers => ({
    ListVolumes: [page({ [`${t.name('pv')}-handle`]: [`${t.name(node)}-id`] })],
    ...more,
  })
const LISTED = { controller: LISTS, args: comparing(), answers: listed('node') }
/** The volume `pv` disappears from the answers to ListVolumes. Other answers may change, too. */
const unlisted = (more: Answers = {}) => answering({ ListVolumes: [page({})], ...more })

row('a volume that ListVolumes shows on its node is not published again', {
  setup: LISTED,
  logs: [
    'CSI driver supports list volumes published nodes. Using capability to reconcile volume attachment objects with actual backend state',
  ],
  steps: [attach(), listings],
})
row('an attached volume that ListVolumes shows on another node only is published again, and the metadata is replaced', {
  setup: {
    ...LISTED,
    answers: listed('node', { ControllerPublishVolume: [{ reply: { publishContext: { a: '1' } } }] }),
  },
  logs: [
    '"VolumeAttachment attached status and actual state do not match. Adding back to VolumeAttachment queue for forced reprocessing"',
    'attachedStatus=true',
    'found=false',
  ],
  steps: [
    attach(),
    [answering(listed('other', { ControllerPublishVolume: [{ reply: { publishContext: { b: '2' } } }] })), listings],
  ],
})
row('a repeated publish with the same result does not change the VolumeAttachment', {
  setup: LISTED,
  steps: [attach(), [unlisted(), listings]],
})
// A retry after the back-off would repeat the call.
row('a VolumeAttachment stays attached if the repeated publish of its volume fails', {
  setup: { ...LISTED, args: comparing('--retry-interval-start=1h', '--retry-interval-max=1h') },
  steps: [attach(), [unlisted({ ControllerPublishVolume: [failure(13)] }), listings]],
})
row('a CSI inline volume missing in ListVolumes causes no second publish', {
  setup: { ...LISTED, answers: { ListVolumes: [page({})] } },
  steps: [
    attachmentCreated({
      va: (t) => ({
        source: {
          inlineVolumeSpec: { accessModes: ['ReadWriteOnce'], csi: { driver: t.driverName, volumeHandle: 'i' } },
        },
      }),
    }),
    listings,
  ],
})
row('a deleted VolumeAttachment is unpublished again if ListVolumes still shows its volume', {
  setup: LISTED,
  steps: [attach({ va: { metadata: { finalizers: ['example.com/keep'] } } }), detach, listings],
})
row('the comparison with ListVolumes ignores attachments of other attachers and attachments to missing nodes', {
  setup: LISTED,
  steps: [
    attachmentCreated({ va: { driver: 'other.example.com' }, suffix: '-other' }),
    attach({ node: 'nowhere', suffix: '-nowhere' }),
    attach(),
    [unlisted(), listings],
  ],
})

const STATUS = (t: TestContext) => ({ publishedNodeIds: [`${t.name('node')}-id`] })
const BARE = { capacityBytes: 0n, volumeContext: {}, accessibleTopology: [] }
row('the attacher skips entries of ListVolumes without volume or status', {
  setup: LISTED,
  steps: [
    attach(),
    [
      answering((t) => ({
        ListVolumes: [
          {
            reply: {
              entries: [
                { volume: undefined, status: STATUS(t) },
                { volume: { ...BARE, volumeId: `${t.name('pv')}-handle` }, status: undefined },
              ],
            },
          },
        ],
      })),
      listings,
    ],
  ],
})
row('the attacher calls ListVolumes again one period after a failed call', {
  setup: { ...LISTED, answers: { ListVolumes: [failure(13, 'broken'), failure(13, 'broken'), page({})] } },
  logs: [
    '"Failed to reconcile VolumeAttachment" err="failed to ListVolumes: failed to list volumes: rpc error: code = Internal desc = broken"',
  ],
  steps: [attach(), listings],
})

const test = testsOf('attacher', 'published nodes')

test('the attacher does not call ListVolumes if the driver lacks LIST_VOLUMES or LIST_VOLUMES_PUBLISHED_NODES', async (t) => {
  const node = await t.createNode()
  for (const missing of ['LIST_VOLUMES', 'LIST_VOLUMES_PUBLISHED_NODES']) {
    const driver = await t.driver({ controller: LISTS.filter((name) => name !== missing) })
    const sidecar = await t.running({ driver, args: ['--reconcile-sync=200ms'] }, 'volumeattachments', 'csinodes')
    // A driver with both capabilities gets ListVolumes at the start, before the first publish.
    await attachAndWait(t, { node }, { suffix: `-without-${missing.toLowerCase().replaceAll('_', '-')}` })
    equal(driver.callsOf('ListVolumes'), [])
    await sidecar.endBy('SIGKILL')
  }
})

test('the attacher reads all pages of ListVolumes, with the page size in --max-entries', async (t) => {
  const pages: Readonly<Record<string, DriverReply>> = {
    '': page({ a: [] }, 'two'),
    two: page({ b: ['x'] }, 'three'),
    three: page({ [`${t.name('pv')}-handle`]: [`${t.name('node')}-id`] }),
  }
  const at = await scene(t, {
    controller: LISTS,
    prepare: (each) =>
      each.on('ListVolumes', ({ request }) => pages[String(request['starting_token'] ?? '')] ?? 'hang'),
    args: comparing('--max-entries=2', '--timeout=30s')(t),
  })
  await attachAndWait(t, at)
  const before = volumeCalls(at.driver).length
  await listings.run(t, { ...at, setup: {} })
  await listings.run(t, { ...at, setup: {} })
  equal(volumeCalls(at.driver).length, before)
  for (const { request, timeoutMs } of at.driver.callsOf('ListVolumes')) {
    equal(request['max_entries'], 2)
    ok(timeoutMs > 25_000 && timeoutMs <= 30_050, `${timeoutMs}`)
  }
})

test('a repeated publish replaces the whole attachmentMetadata, also keys that the cache lacks', {
  only: 'ours',
}, async (t) => {
  const at = await scene(t, {
    controller: LISTS,
    prepare: (driver) => driver.on('ControllerPublishVolume', { reply: { publishContext: { a: '1' } } }),
    args: comparing()(t),
  })
  await attachAndWait(t, at)
  at.attacher.gate.muteWatches()
  await editStatus(t, { attachmentMetadata: { earlier: 'x' } })
  at.driver.on('ControllerPublishVolume', { reply: { publishContext: { b: '2' } } })
  await untilAttachment(t, ({ status }) => isDeepStrictEqual(status?.attachmentMetadata, { b: '2' }))
})
