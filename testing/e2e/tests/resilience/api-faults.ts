import { deepStrictEqual as equal, ok } from 'node:assert'
import { LEASES } from '@csi-sidecars/kube-types'
import { hold, slow, tooMany } from '../../harness/api/gate.ts'
import { lease } from '../../harness/api/objects.ts'
import type { TestContext } from '../../harness/context.ts'
import { residentMiB } from '../../harness/process/memory.ts'
import { leaseName } from '../../harness/subject.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import { attach, attachAndWait, attached, attachFailed, getAttachment, scene } from '../attacher/scene.ts'

const test = testsOf('attacher', 'API faults', { only: 'ours' })

const QUICK = ['--retry-interval-start=200ms', '--retry-interval-max=1s']
const CLOSING = 'No answer from the API server, closing the connections that are older than the request'

test('every request about the lease takes 4.5 s: it is kept', {
  within: 120_000,
  long: 'real',
}, async (t) => {
  const gate = await t.gate()
  gate.inject('* leases', () => slow(4500), { where: ({ watch }) => !watch })
  const at = await scene(t, { gate, args: [...QUICK, '--leader-election'] })
  await at.attacher.line('became leader, starting', { within: 20_000 })
  await pause(45_000)
  equal(at.attacher.linesWith('Stopped leading'), [])
  equal(at.attacher.linesWith('became leader, starting').length, 1)
  ok(gate.writes('leases').length >= 9, `${gate.writes('leases').length} renewals`)
  await attachAndWait(t, at)
})

test('a Retry-After of an hour delays only the refused work, in its queue, and a line says so', {
  long: 'real',
}, async (t) => {
  const at = await scene(t, { args: QUICK })
  at.attacher.gate.inject('PATCH persistentvolumes', tooMany(3600), { times: 1 })
  await attach(t, at)
  await at.attacher.line('The API server asks to wait')
  await attached(t, t.name('va'), { within: 45_000 })
})

test('a Retry-After of an hour for the lease does not lose the lease', async (t) => {
  const at = await scene(t, { args: [...QUICK, '--leader-election'] })
  await at.attacher.line('became leader, starting')
  const refused = at.attacher.gate.inject('PUT leases', tooMany(3600), { times: 1 })
  await eventually('the refusal', () => refused.count > 0)
  await pause(12_000)
  equal(at.attacher.linesWith('Stopped leading'), [])
  await attachAndWait(t, at)
})

test('a Lease whose spec is null is acquired like an empty one', async (t) => {
  await t.create(LEASES, lease(leaseName('attacher', t.driverName), JSON.parse('null')))
  const at = await scene(t, { args: ['--leader-election'] })
  await at.attacher.line('became leader, starting')
})

/** An attacher, with or without leader election, that has attached a volume and has had nothing to do since. */
async function attachedAtRest(t: TestContext, election: boolean): ReturnType<typeof scene> {
  const at = await scene(t, { args: [...QUICK, ...(election ? ['--leader-election'] : [])] })
  if (election) await at.attacher.line('became leader, starting')
  await attachAndWait(t, at, { suffix: '-a' })
  await pause(5000)
  return at
}

for (const election of [true, false]) {
  const how = election ? 'with' : 'without'
  test(`one stream is silent though nothing has closed it, ${how} leader election: resumed within 55 s, no list`, {
    within: 150_000,
    long: 'real',
  }, async (t) => {
    const at = await attachedAtRest(t, election)
    const { gate } = at.attacher
    const before = gate.requests.length
    gate.muteWatches('volumeattachments')
    const began = Date.now()
    await attachAndWait(t, at, { suffix: '-b', within: 60_000 })
    ok(Date.now() - began < 55_000, `${Date.now() - began} ms`)
    await at.attacher.line('Watch was silent, continuing on a new connection')
    const after = gate.requests.slice(before)
    const reads = after.filter(({ method, resource }) => method === 'GET' && resource === 'volumeattachments')
    const kinds = reads.map(({ watch, query }) => [watch, query['sendInitialEvents']])
    equal(kinds, [[true, undefined]])
    equal(at.attacher.linesWith(CLOSING), [])
  })

  test(`all open connections are dead though nothing has closed them, ${how} leader election: noticed within 30 s`, {
    within: 150_000,
    long: 'real',
  }, async (t) => {
    const at = await attachedAtRest(t, election)
    const { gate } = at.attacher
    ok(gate.blackHole() > 0)
    const began = Date.now()
    await attachAndWait(t, at, { suffix: '-b', within: 40_000 })
    ok(Date.now() - began < 30_000, `${Date.now() - began} ms`)
    ok(at.attacher.linesWith(CLOSING).length > 0)
    equal(at.attacher.linesWith('Stopped leading'), [])
    const reads = gate.requests.filter(({ path }) => path === '/version')
    if (election) equal(reads, [])
    else ok(reads.length > 0 && reads.length <= 5, `${reads.length} small reads`)
  })
}

test('a write that is never answered: read again before it is written again', {
  within: 120_000,
  long: 'real',
}, async (t) => {
  const at = await scene(t, { args: QUICK })
  const { gate } = at.attacher
  const held = hold()
  gate.inject('PATCH volumeattachments/status', held.fault, { times: 1 })
  await attachAndWait(t, at, { within: 50_000 })
  held.release()
  const [unanswered] = gate.writes('volumeattachments/status')
  const ofVa = gate.requests.filter(({ name, watch }) => name === t.name('va') && !watch)
  const later = ofVa.filter(({ seq }) => seq > (unanswered?.seq ?? 0))
  const kinds = later.map(({ method, resource }) => `${method} ${resource}`)
  equal(kinds, ['GET volumeattachments', 'PATCH volumeattachments/status'])
  const waited = (later[0]?.time ?? 0) - (unanswered?.time ?? 0)
  ok(waited > 30_000 && waited < 38_000, `given up after ${waited} ms`)
  equal((await getAttachment(t)).status?.attachError, undefined)
})

test('a refusal of a watch whose body never ends costs no memory', async (t) => {
  const at = await scene(t, { args: QUICK })
  await attachAndWait(t, at, { suffix: '-a' })
  const { attacher } = at
  const { gate } = attacher
  const endless = Buffer.alloc(64 * 1024 * 1024, 'no ')
  const before = residentMiB(attacher.pid)
  const fault = { kind: 'raw', code: 403, bytes: endless, ending: 'stay' } as const
  const refused = gate.inject('WATCH volumeattachments', fault, { times: 3 })
  gate.dropWatches('volumeattachments')
  await eventually('refusals', () => refused.count === 3)
  await t.watching(attacher, 'volumeattachments')
  const after = residentMiB(attacher.pid)
  ok(after - before < 48, `from ${before} to ${after} MiB`)
  await attachAndWait(t, at, { suffix: '-b' })
})

test('no part of a broken answer that may hold a secret is logged', async (t) => {
  const at = await scene(t, { args: [...QUICK, '-v=9'] })
  const controllerPublishSecretRef = await t.createSecret({ password: 'hunter2' })
  at.attacher.gate.inject('* secrets', { kind: 'raw', code: 200, bytes: '{"data":{"password":"aHVudGVyMg=="' })
  await attach(t, at, { pv: { csi: { controllerPublishSecretRef } } })
  const va = await attachFailed(t, 'no JSON')
  const message = va.status?.attachError?.message ?? ''
  ok(!/aHVud|password/.test(message), message)
  await never('a secret in the log', () => at.attacher.lines.find((line) => line.includes('aHVud')), 500)
})
