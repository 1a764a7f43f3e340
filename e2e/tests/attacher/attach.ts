import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { attachment, volume } from '../../harness/api/objects.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never } from '../../harness/waiting.ts'
import { attach, attached, changeOf, NODE_ID_ANNOTATION, outline, scene, volumeCalls } from './scene.ts'

const test = testsOf('attacher', 'attach')

test('PV finalizer, VA finalizer and annotation, publish, status: in this order and with these bodies', async (t) => {
  const { driver, attacher, node, finalizer } = await scene(t)
  driver.on('ControllerPublishVolume', { reply: { publishContext: { device: '/dev/x' } } })
  const names = await attach(t, { node })
  const va = await attached(t)
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

test('exactly one publish for each of twenty fresh attachments', { only: 'ours' }, async (t) => {
  const { driver, node } = await scene(t)
  const suffixes = Array.from({ length: 20 }, (_, index) => `-${index}`)
  await Promise.all(suffixes.map((suffix) => attach(t, { node }, { suffix })))
  for (const suffix of suffixes) await attached(t, t.name(`va${suffix}`))
  equal(driver.callsOf('ControllerPublishVolume').length, 20)
})

test('an empty publish context leaves no attachmentMetadata', async (t) => {
  const { node } = await scene(t)
  await attach(t, { node })
  equal((await attached(t)).status, { attached: true })
})

test('foreign finalizers stay in place, ours comes last', async (t) => {
  const { attacher, node, finalizer } = await scene(t)
  const others = ['example.com/b', 'example.com/a']
  const names = await attach(
    t,
    { node },
    { pv: { metadata: { finalizers: others } }, va: { metadata: { finalizers: others } } },
  )
  await attached(t)
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

test('a PV that has the finalizer already is not written', async (t) => {
  const { attacher, node, finalizer } = await scene(t)
  await attach(t, { node }, { pv: { metadata: { finalizers: [finalizer] } } })
  await attached(t)
  equal(outline(t, await attacher.gate.settledWrites()), [
    'PATCH volumeattachments 200',
    'PATCH volumeattachments/status 200',
  ])
})

test('a VA that has finalizer and annotation already is not written before the publish', async (t) => {
  const { attacher, node, finalizer } = await scene(t)
  const metadata = { finalizers: [finalizer], annotations: { [NODE_ID_ANNOTATION]: `${node}-id` } }
  await attach(t, { node }, { va: { metadata } })
  await attached(t)
  equal(outline(t, await attacher.gate.settledWrites()), [
    'PATCH persistentvolumes 200',
    'PATCH volumeattachments/status 200',
  ])
})

test('only a wrong node id in the annotation is overwritten', async (t) => {
  const { driver, attacher, node, finalizer } = await scene(t)
  const metadata = { finalizers: [finalizer], annotations: { [NODE_ID_ANNOTATION]: 'wrong', other: 'kept' } }
  await attach(t, { node }, { va: { metadata } })
  const va = await attached(t)
  const [, vaPatch] = await attacher.gate.settledWrites()
  const path = `/metadata/annotations/${NODE_ID_ANNOTATION.replace('/', '~1')}`
  const added = [{ op: 'add', path, value: `${node}-id` }]
  equal(changeOf(t, vaPatch), t.ours ? added : { metadata: { annotations: { [NODE_ID_ANNOTATION]: `${node}-id` } } })
  equal(va.metadata?.annotations, { [NODE_ID_ANNOTATION]: `${node}-id`, other: 'kept' })
  equal(volumeCalls(driver)[0]?.request['node_id'], `${node}-id`)
})

test('a PV of another driver is published too', async (t) => {
  const { driver, node } = await scene(t)
  await attach(t, { node }, { pv: { csi: { driver: 'other.example.com' } } })
  await attached(t)
  equal(volumeCalls(driver).length, 1)
})

test('an inline volume is published without touching any PV', async (t) => {
  const { driver, attacher, node } = await scene(t)
  const va = t.name('va')
  const inlineVolumeSpec = {
    accessModes: ['ReadWriteMany'],
    mountOptions: ['ro'],
    csi: { driver: t.driverName, volumeHandle: 'inline-1', fsType: 'xfs', volumeAttributes: { a: 'b' } },
  }
  await t.create(VOLUME_ATTACHMENTS, attachment(va, t.driverName, { node, source: { inlineVolumeSpec } }))
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
})

test('an attachment of another attacher is ignored', async (t) => {
  const { driver, attacher, node } = await scene(t)
  const pv = t.name('pv')
  await t.create(PERSISTENT_VOLUMES, volume(pv, t.driverName))
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('other'), `not-${t.driverName}`, { pv, node }))
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va'), t.driverName, { pv, node }))
  await attached(t)
  await never(
    'a write to the foreign VA',
    () => attacher.gate.writes().find(({ name }) => name === t.name('other')),
    500,
  )
  equal(volumeCalls(driver).length, t.ours ? 1 : volumeCalls(driver).length)
})

test('an attachment whose status.attached another client resets to false is published again', async (t) => {
  const { driver, node } = await scene(t)
  const { va } = await attach(t, { node })
  await attached(t)
  const before = volumeCalls(driver).length
  await t.api.merge(VOLUME_ATTACHMENTS, { name: va, subresource: 'status' }, { status: { attached: false } })
  await eventually('another publish', () => volumeCalls(driver).length > before)
  await attached(t)
})

test('an attachment that is attached at start causes no call and no write', async (t) => {
  const first = await scene(t)
  const { va } = await attach(t, first)
  await attached(t)
  const { status } = await t.api.get(VOLUME_ATTACHMENTS, { name: va })
  first.attacher.signal('SIGKILL')
  await first.attacher.end()
  const calls = volumeCalls(first.driver).length
  const second = await t.sidecar({ driver: first.driver })
  await t.watching(second, 'volumeattachments', 'persistentvolumes', 'csinodes')
  await never('a write', () => second.gate.writes().length > 0, 1000)
  equal(volumeCalls(first.driver).length, calls)
  equal((await t.api.get(VOLUME_ATTACHMENTS, { name: va })).status, status)
})

test('an attachment created while no attacher runs is published at start', async (t) => {
  const first = await scene(t)
  first.attacher.signal('SIGKILL')
  await first.attacher.end()
  await attach(t, first)
  await t.sidecar({ driver: first.driver })
  await attached(t)
})

test('--timeout is the deadline that the driver sees', async (t) => {
  const { driver, node } = await scene(t, { args: ['--timeout=42s'] })
  await attach(t, { node })
  await attached(t)
  const { timeoutMs = 0 } = volumeCalls(driver)[0] ?? {}
  ok(timeoutMs > 38_000 && timeoutMs <= 42_100, `the driver was given ${timeoutMs} ms`)
})
