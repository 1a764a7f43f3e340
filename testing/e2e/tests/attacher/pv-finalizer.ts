import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { attachment } from '../../harness/api/objects.ts'
import type { Fault } from '../../harness/api/wire.ts'
import { ETCD_TIRED } from '../../harness/api/write-faults.ts'
import { testsOf } from '../../harness/test.ts'
import { never, pause } from '../../harness/waiting.ts'
import { attachAndWait, changeOf, finalizerOf, scene } from './scene.ts'

const test = testsOf('attacher', 'PV finalizer')

test('a PV that is deleted is released with a test of its place', async (t) => {
  const at = await scene(t)
  const others = ['example.com/a', 'example.com/b']
  const finalizers = ['example.com/a', at.finalizer, 'example.com/b']
  const pv = await t.createVolume('pv', { metadata: { finalizers } })
  await never('a write while it is not deleted', () => at.attacher.gate.writes().length > 0, 500)
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  const left = await t.api.until(PERSISTENT_VOLUMES, { name: pv }, ({ metadata }) => metadata?.finalizers?.length === 2)
  equal(left.metadata?.finalizers, others)
  await pause(300)
  const writes = await at.attacher.gate.settledWrites()
  equal(writes.length, 1)
  equal(writes[0]?.contentType, 'application/json-patch+json')
  equal(changeOf(t, writes[0]), [
    { op: 'test', path: '/metadata/finalizers/1', value: at.finalizer },
    { op: 'remove', path: '/metadata/finalizers/1' },
  ])
  ok(at.attacher.linesWith('"Removed finalizer from PersistentVolume"').length > 0)
})

test('a PV in use is released when its attachment is deleted', async (t) => {
  const at = await scene(t)
  const names = await attachAndWait(t, at)
  await t.api.delete(PERSISTENT_VOLUMES, { name: names.pv })
  await pause(700)
  const held = await t.api.get(PERSISTENT_VOLUMES, { name: names.pv })
  equal(held.metadata?.finalizers, [at.finalizer])
  await t.api.delete(VOLUME_ATTACHMENTS, { name: names.va })
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: names.pv })
})

test('an attachment of another attacher keeps the PV too, and its deletion releases it', async (t) => {
  const at = await scene(t)
  const other = t.name('other')
  const pv = await t.createVolume('pv', { metadata: { finalizers: [at.finalizer] } })
  await t.create(VOLUME_ATTACHMENTS, attachment(other, `not-${t.driverName}`, { pv, node: at.node }))
  await pause(300)
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  await never('a write', () => at.attacher.gate.writes().length > 0, 1000)
  await t.api.delete(VOLUME_ATTACHMENTS, { name: other })
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: pv })
})

test('a PV that is deleted while no attacher runs is released at start', async (t) => {
  const pv = await t.createVolume('pv', { metadata: { finalizers: [finalizerOf(t.driverName)] } })
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  await scene(t)
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: pv })
})

test('a PV without our finalizer is not touched when it is deleted', async (t) => {
  const at = await scene(t)
  const finalizers = ['example.com/a', 'external-attacher/other-csi-example-com']
  const pv = await t.createVolume('pv', { metadata: { finalizers } })
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  await never('a write', () => at.attacher.gate.writes().length > 0, 1000)
})

test('the name keeps its case and gets a dash for each other character', async (t) => {
  const name = `${t.id}.Some.CSI.example.com`
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'], name })
  const at = await scene(t, { driver })
  const finalizers = [`external-attacher/${t.id}-Some-CSI-example-com`]
  const pv = await t.createVolume('pv', { metadata: { finalizers }, csi: { driver: name } })
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: pv })
  equal(at.attacher.exit, undefined)
})

test('a finalizer that another writer has moved is found again after a failed test', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  const pv = await t.createVolume('pv', { metadata: { finalizers: ['example.com/a', at.finalizer] } })
  await pause(300)
  // The attacher keeps seeing the old list, because its watch reports no change.
  const finalizers = [at.finalizer]
  const moved = (): Fault => ({
    kind: 'wait',
    for: t.api.merge(PERSISTENT_VOLUMES, { name: pv }, { metadata: { finalizers } }),
  })
  at.attacher.gate.inject('PATCH persistentvolumes', moved, { times: 1 })
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: pv })
  const writes = await at.attacher.gate.settledWrites()
  equal(writes[0]?.code, 422)
  equal(writes.at(-1)?.code, 200)
  equal(changeOf(t, writes.at(-1)), [
    { op: 'test', path: '/metadata/finalizers/0', value: at.finalizer },
    { op: 'remove', path: '/metadata/finalizers/0' },
  ])
})

test('a finalizer that cannot be removed: an error line, and retried', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  const pv = await t.createVolume('pv', { metadata: { finalizers: [at.finalizer] } })
  at.attacher.gate.inject('PATCH persistentvolumes', ETCD_TIRED, { times: 2 })
  await pause(300)
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: pv })
  const line = await at.attacher.line('"Failed to remove finalizer from PersistentVolume"')
  ok(line.startsWith('E') && line.includes('etcd is tired') && line.includes(`PersistentVolume="${pv}"`), line)
})
