import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { attachment, type VolumeParts } from '../../harness/api/objects.ts'
import type { WireRequest } from '../../harness/api/wire.ts'
import { ETCD_TIRED } from '../../harness/api/write-faults.ts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import {
  afterLaterWork,
  attach,
  attachAndWait,
  attached,
  changeOf,
  detachAndWait,
  finalizerOf,
  getAttachment,
  NODE_ID_ANNOTATION,
  outline,
  scene,
  volumeCalls,
} from '../../rows/attacher/scene.ts'

const test = testsOf('attacher', 'attach')

test('an attach patches the PV, patches the VolumeAttachment, publishes, and patches the status of the VolumeAttachment', async (t) => {
  const { driver, attacher, node, finalizer } = await scene(t)
  driver.on('ControllerPublishVolume', { reply: { publishContext: { device: '/dev/x' } } })
  const { object: va, ...names } = await attachAndWait(t, { node })
  const writes = await attacher.gate.settledWrites()
  equal(outline(t, writes), [
    'PATCH persistentvolumes 200',
    'PATCH volumeattachments 200',
    'PATCH volumeattachments/status 200',
  ])
  const [pvPatch, vaPatch, statusPatch] = writes
  equal(pvPatch?.contentType, 'application/json-patch+json')
  equal(changeOf(t, pvPatch), [
    { op: 'test', path: '/metadata/finalizers', value: null },
    { op: 'add', path: '/metadata/finalizers', value: [finalizer] },
  ])
  equal(vaPatch?.contentType, `application/${t.ours ? 'json' : 'merge'}-patch+json`)
  const annotations = { [NODE_ID_ANNOTATION]: `${node}-id` }
  const added = [
    { op: 'test', path: '/metadata/annotations', value: null },
    { op: 'add', path: '/metadata/annotations', value: annotations },
    { op: 'test', path: '/metadata/finalizers', value: null },
    { op: 'add', path: '/metadata/finalizers', value: [finalizer] },
  ]
  equal(changeOf(t, vaPatch), t.ours ? added : { metadata: { annotations, finalizers: [finalizer] } })
  equal(statusPatch?.contentType, 'application/merge-patch+json')
  equal(changeOf(t, statusPatch), { status: { attached: true, attachmentMetadata: { device: '/dev/x' } } })
  equal(va.status, { attached: true, attachmentMetadata: { device: '/dev/x' } })
  equal(va.metadata?.finalizers, [finalizer])
  equal(va.metadata?.annotations, { [NODE_ID_ANNOTATION]: `${node}-id` })
  const pv = await t.api.get(PERSISTENT_VOLUMES, { name: names.pv })
  equal(pv.metadata?.finalizers, [finalizer])
  const [publish] = volumeCalls(driver)
  equal(publish?.request, {
    volume_id: `${names.pv}-handle`,
    node_id: `${node}-id`,
    volume_capability: { mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } },
  })
  equal(Math.round((publish?.timeoutMs ?? 0) / 1000), 15)
  ok((vaPatch?.end ?? Infinity) <= (publish?.start ?? 0), 'the finalizer is stored before the driver is called')
  ok((statusPatch?.time ?? 0) >= (publish?.end ?? Infinity), 'the status follows the driver')
})

test('an empty publish context leaves no attachmentMetadata in the VolumeAttachment', async (t) => {
  const { node } = await scene(t)
  equal((await attachAndWait(t, { node })).object.status, { attached: true })
})

test('an attach keeps the order of foreign finalizers and appends our finalizer', async (t) => {
  const { attacher, node, finalizer } = await scene(t)
  const others = ['example.com/b', 'example.com/a']
  const foreign = { metadata: { finalizers: others } }
  const names = await attachAndWait(t, { node }, { pv: foreign, va: foreign })
  const [pvPatch, vaPatch] = await attacher.gate.settledWrites()
  equal(changeOf(t, pvPatch), [{ op: 'add', path: '/metadata/finalizers/-', value: finalizer }])
  const annotations = { [NODE_ID_ANNOTATION]: `${node}-id` }
  const added = [
    { op: 'test', path: '/metadata/annotations', value: null },
    { op: 'add', path: '/metadata/annotations', value: annotations },
    { op: 'test', path: '/metadata/finalizers', value: others },
    { op: 'add', path: '/metadata/finalizers/-', value: finalizer },
  ]
  equal(changeOf(t, vaPatch), t.ours ? added : { metadata: { annotations, finalizers: [...others, finalizer] } })
  equal((await t.api.get(PERSISTENT_VOLUMES, { name: names.pv })).metadata?.finalizers, [...others, finalizer])
})

test('an attach writes only the status if the PV and the VolumeAttachment already have our finalizer and annotation', async (t) => {
  const { attacher, node, finalizer } = await scene(t)
  const finalizers = [finalizer]
  const va = { metadata: { finalizers, annotations: { [NODE_ID_ANNOTATION]: `${node}-id` } } }
  await attachAndWait(t, { node }, { pv: { metadata: { finalizers } }, va })
  equal(outline(t, await attacher.gate.settledWrites()), ['PATCH volumeattachments/status 200'])
})

test('an attach corrects a wrong node ID in the annotation of the VolumeAttachment', async (t) => {
  const { driver, attacher, node, finalizer } = await scene(t)
  const metadata = { finalizers: [finalizer], annotations: { [NODE_ID_ANNOTATION]: 'wrong', other: 'kept' } }
  const { object: va } = await attachAndWait(t, { node }, { va: { metadata } })
  const [, vaPatch] = await attacher.gate.settledWrites()
  const path = `/metadata/annotations/${NODE_ID_ANNOTATION.replace('/', '~1')}`
  const added = [{ op: 'add', path, value: `${node}-id` }]
  equal(changeOf(t, vaPatch), t.ours ? added : { metadata: { annotations: { [NODE_ID_ANNOTATION]: `${node}-id` } } })
  equal(va.metadata?.annotations, { [NODE_ID_ANNOTATION]: `${node}-id`, other: 'kept' })
  equal(volumeCalls(driver)[0]?.request['node_id'], `${node}-id`)
})

test('a PV of another driver is published if the VolumeAttachment names our driver as its attacher', async (t) => {
  const { driver, node } = await scene(t)
  await attachAndWait(t, { node }, { pv: { csi: { driver: 'other.example.com' } } })
  equal(volumeCalls(driver).length, 1)
})

test('an inline volume is published and unpublished without a read or a write of any PV', async (t) => {
  const { driver, attacher, node } = await scene(t)
  const inlineVolumeSpec = {
    accessModes: ['ReadWriteMany'],
    mountOptions: ['ro'],
    csi: { driver: t.driverName, volumeHandle: 'inline-1', fsType: 'xfs', volumeAttributes: { a: 'b' } },
  }
  await t.createAttachment('va', { node, source: { inlineVolumeSpec } })
  await attached(t)
  equal(outline(t, await attacher.gate.settledWrites()), [
    'PATCH volumeattachments 200',
    'PATCH volumeattachments/status 200',
  ])
  equal(volumeCalls(driver)[0]?.request, {
    volume_id: 'inline-1',
    node_id: `${node}-id`,
    volume_capability: {
      mount: { fs_type: 'xfs', mount_flags: ['ro'] },
      access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' },
    },
    volume_context: { a: 'b' },
  })
  await detachAndWait(t)
  equal(volumeCalls(driver).at(-1)?.request, { volume_id: 'inline-1', node_id: `${node}-id` })
})

test('the attacher ignores a VolumeAttachment of another attacher', async (t) => {
  const at = await scene(t)
  const { node } = at
  const pv = await t.createVolume('pv')
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('other'), `not-${t.driverName}`, { pv, node }))
  await t.createAttachment('va', { pv, node })
  await attached(t)
  const { calls, writes } = await afterLaterWork(t, at)
  equal(
    writes.filter(({ name }) => name === t.name('other')),
    [],
  )
  if (t.ours) equal(calls.length, 1)
})

test('a restarted attacher makes no driver call and no write for an attached VolumeAttachment', async (t) => {
  const first = await scene(t)
  const { status } = (await attachAndWait(t, first)).object
  await first.attacher.endBy('SIGKILL')
  const calls = volumeCalls(first.driver).length
  const second = await t.running({ driver: first.driver }, 'volumeattachments', 'persistentvolumes', 'csinodes')
  const later = await afterLaterWork(t, { ...first, attacher: second })
  equal([later.writes, later.calls.length], [[], calls])
  equal((await getAttachment(t)).status, status)
})

interface RequestRow {
  readonly what: string
  readonly pv: VolumeParts
  readonly args?: readonly string[]
  readonly capabilities?: readonly ('PUBLISH_READONLY' | 'SINGLE_NODE_MULTI_WRITER')[]
  /** The expected fields of the publish request, in addition to those of a volume without options. */
  readonly request: Readonly<Record<string, unknown>>
}

const WRITER = { mode: 'SINGLE_NODE_WRITER' }
const REQUESTS: readonly RequestRow[] = [
  {
    what: 'file system type, mount options in order, and volume attributes',
    pv: { mountOptions: ['z', 'a'], csi: { fsType: 'xfs', volumeAttributes: { k: 'v', l: 'w' } } },
    request: {
      volume_capability: { mount: { fs_type: 'xfs', mount_flags: ['z', 'a'] }, access_mode: WRITER },
      volume_context: { k: 'v', l: 'w' },
    },
  },
  {
    what: '--default-fstype if the PV has no file system type',
    pv: {},
    args: ['--default-fstype=ext4'],
    request: { volume_capability: { mount: { fs_type: 'ext4' }, access_mode: WRITER } },
  },
  {
    what: 'the file system type of the PV rather than --default-fstype',
    pv: { csi: { fsType: 'btrfs' } },
    args: ['--default-fstype=ext4'],
    request: { volume_capability: { mount: { fs_type: 'btrfs' }, access_mode: WRITER } },
  },
  {
    what: 'a block volume without file system type and mount options',
    pv: { volumeMode: 'Block', mountOptions: ['ro'], csi: { fsType: 'xfs' } },
    args: ['--default-fstype=ext4'],
    request: { volume_capability: { block: {}, access_mode: WRITER } },
  },
  { what: 'no `readonly` without PUBLISH_READONLY', pv: { csi: { readOnly: true } }, request: {} },
  {
    what: '`readonly` with PUBLISH_READONLY',
    pv: { csi: { readOnly: true } },
    capabilities: ['PUBLISH_READONLY'],
    request: { readonly: true },
  },
  {
    what: 'no `readonly` for a read-only access mode',
    pv: { accessModes: ['ReadOnlyMany'], mountOptions: ['ro'] },
    capabilities: ['PUBLISH_READONLY'],
    request: { volume_capability: { mount: { mount_flags: ['ro'] }, access_mode: { mode: 'MULTI_NODE_READER_ONLY' } } },
  },
]

for (const { what, pv, args = [], capabilities = [], request } of REQUESTS) {
  test(`the publish request contains ${what}`, async (t) => {
    const { driver, node } = await scene(t, { args, controller: ['PUBLISH_UNPUBLISH_VOLUME', ...capabilities] })
    const names = await attachAndWait(t, { node }, { pv })
    equal(volumeCalls(driver)[0]?.request, {
      volume_id: `${names.pv}-handle`,
      node_id: `${node}-id`,
      volume_capability: { mount: {}, access_mode: WRITER },
      ...request,
    })
  })
}

const MODES: readonly (readonly [modes: readonly string[], without: string, with_: string])[] = [
  [['ReadWriteMany'], 'MULTI_NODE_MULTI_WRITER', 'MULTI_NODE_MULTI_WRITER'],
  [['ReadOnlyMany', 'ReadWriteMany'], 'MULTI_NODE_MULTI_WRITER', 'MULTI_NODE_MULTI_WRITER'],
  [['ReadWriteOnce', 'ReadWriteMany'], 'MULTI_NODE_MULTI_WRITER', 'MULTI_NODE_MULTI_WRITER'],
  [['ReadOnlyMany'], 'MULTI_NODE_READER_ONLY', 'MULTI_NODE_READER_ONLY'],
  [['ReadWriteOnce'], 'SINGLE_NODE_WRITER', 'SINGLE_NODE_MULTI_WRITER'],
  [['ReadWriteOncePod'], 'SINGLE_NODE_WRITER', 'SINGLE_NODE_SINGLE_WRITER'],
]

for (const capable of [false, true]) {
  test(`the publish request has an access mode ${capable ? 'with' : 'without'} SINGLE_NODE_MULTI_WRITER`, async (t) => {
    const controller = ['PUBLISH_UNPUBLISH_VOLUME', ...(capable ? ['SINGLE_NODE_MULTI_WRITER' as const] : [])] as const
    const { driver, node } = await scene(t, { controller: [...controller] })
    for (const [index, [accessModes]] of MODES.entries()) {
      await attach(t, { node }, { pv: { accessModes }, suffix: `-${index}` })
    }
    for (const [index, [, without, with_]] of MODES.entries()) {
      await attached(t, t.name(`va-${index}`))
      const call = volumeCalls(driver).find(({ request }) => request['volume_id'] === `${t.name(`pv-${index}`)}-handle`)
      equal(call?.request['volume_capability'], { mount: {}, access_mode: { mode: capable ? with_ : without } })
    }
  })
}

test('each publish reads the Secret again and sends all of its keys', async (t) => {
  const { driver, attacher, node } = await scene(t, { args: ['--retry-interval-start=200ms'] })
  driver.on('ControllerPublishVolume', (_, nth) => (nth < 2 ? { code: 13, message: 'no' } : { reply: {} }))
  const secretRef = await t.createSecret({ user: 'me', password: 'pässword\n' })
  await attachAndWait(t, { node }, { pv: { csi: { controllerPublishSecretRef: secretRef } } })
  const publishes = driver.callsOf('ControllerPublishVolume')
  for (const { request } of publishes) equal(request['secrets'], { user: 'me', password: 'pässword\n' })
  const reads = attacher.gate.requestsOf('secrets')
  equal(new Set(reads.map(({ method, name }) => `${method} ${name}`)), new Set([`GET ${secretRef.name}`]))
  equal(reads.length, publishes.length)
})

test('a publish with a Secret without data sends no secrets', async (t) => {
  const { driver, node } = await scene(t)
  const secretRef = await t.createSecret({})
  await attachAndWait(t, { node }, { pv: { csi: { controllerPublishSecretRef: secretRef } } })
  equal(volumeCalls(driver)[0]?.request['secrets'], undefined)
})

const trivial = testsOf('attacher', 'trivial handler')

/** Waits until the attacher has marked a later attachment. Returns the writes to earlier attachments. */
async function writesBeforeLaterMark(t: TestContext, attacher: RunningSidecar): Promise<readonly WireRequest[]> {
  await t.createAttachment('va-later', { pv: 'x', node: 'nowhere' })
  await attached(t, t.name('va-later'))
  return (await attacher.gate.settledWrites()).filter(({ name }) => name !== t.name('va-later'))
}

for (const [what, controllerService, reason] of [
  ['without CONTROLLER_SERVICE', false, 'Plugin Controller Service'],
  ['without PUBLISH_UNPUBLISH_VOLUME', true, 'ControllerPublishUnpublish'],
] as const) {
  trivial(`one write marks the VolumeAttachment of a driver ${what} as attached`, async (t) => {
    const driver = await t.driver({ controllerService, controller: ['EXPAND_VOLUME'] })
    const attacher = await t.running({ driver }, 'volumeattachments')
    const line = `CSI driver does not support ${reason}, using trivial handler`
    ok((await attacher.line(line)).startsWith('I'))
    const csi = { controllerPublishSecretRef: await t.createSecret({ a: 'b' }) }
    const pv = await t.createVolume('pv', { csi })
    await t.createAttachment('va', { pv, node: 'nowhere' })
    const va = await attached(t)
    equal(va.status, { attached: true })
    equal(va.metadata?.finalizers, undefined)
    equal(va.metadata?.annotations, undefined)
    const writes = await writesBeforeLaterMark(t, attacher)
    equal(outline(t, writes), ['PATCH volumeattachments/status 200'])
    equal(writes[0]?.contentType, 'application/merge-patch+json')
    equal(changeOf(t, writes[0]), { status: { attached: true } })
    equal(volumeCalls(driver), [])
    equal(attacher.gate.requestsOf('secrets'), [])
    await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name('va') })
    equal(await t.api.find(VOLUME_ATTACHMENTS, { name: t.name('va') }), undefined)
    if (!controllerService) equal(driver.callsOf('ControllerGetCapabilities'), [])
  })
}

trivial('the attacher of a driver without attach calls ignores a VolumeAttachment of another attacher', async (t) => {
  const driver = await t.driver()
  const attacher = await t.running({ driver }, 'volumeattachments')
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va'), `not-${t.driverName}`, { pv: 'x', node: 'n' }))
  equal(await writesBeforeLaterMark(t, attacher), [])
})

trivial('a deleted VolumeAttachment is still marked as attached if the driver has no attach calls', async (t) => {
  const driver = await t.driver()
  const finalizers = [finalizerOf(t.driverName)]
  await t.createAttachment('va', { pv: 'x', node: 'n', metadata: { finalizers } })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name('va') })
  const attacher = await t.sidecar({ driver })
  const marked = await attached(t)
  equal(marked.metadata?.finalizers, finalizers)
  equal((await writesBeforeLaterMark(t, attacher)).length, 1)
})

trivial('a refused patch of the status of a VolumeAttachment is logged and retried with backoff', async (t) => {
  const driver = await t.driver()
  const attacher = await t.sidecar({ driver, args: ['--retry-interval-start=300ms'] })
  attacher.gate.inject('PATCH volumeattachments/status', ETCD_TIRED, { times: 2 })
  await t.watching(attacher, 'volumeattachments')
  await t.createAttachment('va', { pv: 'x', node: 'n' })
  await attached(t)
  const line = await attacher.line('"Error saving VolumeAttachment as attached"')
  ok(line.startsWith('E') && line.includes('err="etcd is tired"'), line)
})
