import { deepStrictEqual as equal, ok } from 'node:assert'
import { LEASES, SECRETS, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { hold, refusal, retryAfter, slow } from '../../harness/api/gate.ts'
import { secret } from '../../harness/api/objects.ts'
import type { WireRequest } from '../../harness/api/wire.ts'
import type { TestContext } from '../../harness/context.ts'
import { residentMiB } from '../../harness/process/memory.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import { attach, attached, attachFailed, scene } from '../attacher/scene.ts'

const test = testsOf('attacher', 'API faults')

const QUICK = ['--retry-interval-start=200ms', '--retry-interval-max=1s']
const isLease = ({ resource, watch }: WireRequest): boolean => resource === 'leases' && !watch
const isSmallRead = ({ path }: WireRequest): boolean => path === '/version'
const CLOSING = 'No answer from the API server, closing the connections that are older than the request'

test('every request about the lease takes 4.5 s: it is kept', {
  only: 'ours',
  within: 120_000,
  long: 'real',
}, async (t) => {
  const gate = await t.gate()
  gate.rules.push((request) => (isLease(request) ? slow(4500) : undefined))
  const at = await scene(t, { gate, args: [...QUICK, '--leader-election'] })
  await at.attacher.line('became leader, starting', { within: 20_000 })
  await pause(45_000)
  equal(at.attacher.linesWith('Stopped leading'), [])
  equal(at.attacher.linesWith('became leader, starting').length, 1)
  ok(gate.writes('leases').length >= 9, `${gate.writes('leases').length} renewals`)
  await attach(t, at)
  await attached(t)
})

test('a Retry-After of an hour delays only the refused work, in its queue, and a line says so', {
  only: 'ours',
  long: 'real',
}, async (t) => {
  const at = await scene(t, { args: QUICK })
  let once = true
  at.attacher.gate.rules.push(({ method, resource }) => {
    if (method !== 'PATCH' || resource !== 'persistentvolumes' || !once) return undefined
    once = false
    return retryAfter(3600, refusal(429, 'TooManyRequests', 'slow down'))
  })
  await attach(t, at)
  await at.attacher.line('The API server asks to wait')
  await attached(t, t.name('va'), { within: 45_000 })
})

test('a Retry-After of an hour for the lease does not lose the lease', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: [...QUICK, '--leader-election'] })
  await at.attacher.line('became leader, starting')
  let once = true
  at.attacher.gate.rules.push((request) => {
    if (!isLease(request) || request.method !== 'PUT' || !once) return undefined
    once = false
    return retryAfter(3600, refusal(429, 'TooManyRequests', 'slow down'))
  })
  await eventually('the refusal', () => !once)
  await pause(12_000)
  equal(at.attacher.linesWith('Stopped leading'), [])
  await attach(t, at)
  await attached(t)
})

test('a Lease whose spec is null is acquired like an empty one', { only: 'ours' }, async (t) => {
  const name = `external-attacher-leader-${t.driverName.replaceAll('.', '-')}`
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, namespace: 'default' } }
  await t.create(LEASES, { ...lease, ...JSON.parse('{"spec":null}') })
  const at = await scene(t, { args: ['--leader-election'] })
  await at.attacher.line('became leader, starting')
})

/** An attacher, with or without leader election, that has attached a volume and has had nothing to do since. */
async function attachedAtRest(t: TestContext, election: boolean): ReturnType<typeof scene> {
  const at = await scene(t, { args: [...QUICK, ...(election ? ['--leader-election'] : [])] })
  if (election) await at.attacher.line('became leader, starting')
  await attach(t, at, { suffix: '-a' })
  await attached(t, t.name('va-a'))
  await pause(5000)
  return at
}

for (const election of [true, false]) {
  const how = election ? 'with' : 'without'
  test(`one stream is silent though nothing has closed it, ${how} leader election: resumed within 55 s, no list`, {
    only: 'ours',
    within: 150_000,
    long: 'real',
  }, async (t) => {
    const at = await attachedAtRest(t, election)
    const { gate } = at.attacher
    const before = gate.requests.length
    gate.muteWatches('volumeattachments')
    const began = Date.now()
    await attach(t, at, { suffix: '-b' })
    await attached(t, t.name('va-b'), { within: 60_000 })
    ok(Date.now() - began < 55_000, `${Date.now() - began} ms`)
    await at.attacher.line('Watch was silent, continuing on a new connection')
    const after = gate.requests.slice(before)
    const resumed = after.filter(({ resource, watch }) => watch && resource === 'volumeattachments')
    equal(
      resumed.map(({ query }) => query['sendInitialEvents']),
      [undefined],
    )
    equal(
      after.filter(({ method, resource, watch }) => method === 'GET' && resource === 'volumeattachments' && !watch),
      [],
    )
    equal(at.attacher.linesWith(CLOSING), [])
  })

  test(`all open connections are dead though nothing has closed them, ${how} leader election: noticed within 30 s`, {
    only: 'ours',
    within: 150_000,
    long: 'real',
  }, async (t) => {
    const at = await attachedAtRest(t, election)
    const { gate } = at.attacher
    ok(gate.blackHole() > 0)
    const began = Date.now()
    await attach(t, at, { suffix: '-b' })
    await attached(t, t.name('va-b'), { within: 40_000 })
    ok(Date.now() - began < 30_000, `${Date.now() - began} ms`)
    ok(at.attacher.linesWith(CLOSING).length > 0)
    equal(at.attacher.linesWith('Stopped leading'), [])
    const reads = gate.requests.filter(isSmallRead)
    if (election) equal(reads, [])
    else ok(reads.length > 0 && reads.length <= 5, `${reads.length} small reads`)
  })
}

test('a write that is never answered: read again before it is written again', {
  only: 'ours',
  within: 120_000,
  long: 'real',
}, async (t) => {
  const at = await scene(t, { args: QUICK })
  const { gate } = at.attacher
  const held = hold()
  let unanswered: WireRequest | undefined
  gate.rules.push((request) => {
    if (request.method !== 'PATCH' || request.resource !== 'volumeattachments/status' || unanswered !== undefined) {
      return undefined
    }
    unanswered = request
    return held.fault
  })
  await attach(t, at)
  await eventually('the write', () => unanswered !== undefined)
  await attached(t, t.name('va'), { within: 50_000 })
  held.release()
  const later = gate.requests.filter(
    ({ name, seq, watch }) => name === t.name('va') && !watch && seq > (unanswered?.seq ?? 0),
  )
  equal(
    later.map(({ method, resource }) => `${method} ${resource}`),
    ['GET volumeattachments', 'PATCH volumeattachments/status'],
  )
  const waited = (later[0]?.time ?? 0) - (unanswered?.time ?? 0)
  ok(waited > 30_000 && waited < 38_000, `given up after ${waited} ms`)
  equal((await t.api.get(VOLUME_ATTACHMENTS, { name: t.name('va') })).status?.attachError, undefined)
})

test('a refusal of a watch whose body never ends costs no memory', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: QUICK })
  await attach(t, at, { suffix: '-a' })
  await attached(t, t.name('va-a'))
  const { attacher } = at
  const { gate } = attacher
  const endless = Buffer.alloc(64 * 1024 * 1024, 'no ')
  const before = residentMiB(attacher.pid)
  let refused = 0
  gate.rules.push(({ resource, watch }) => {
    if (resource !== 'volumeattachments' || !watch || refused === 3) return undefined
    refused += 1
    return { kind: 'raw', code: 403, bytes: endless, ending: 'stay' }
  })
  gate.dropWatches('volumeattachments')
  await eventually('refusals', () => refused === 3)
  await t.watching(attacher, 'volumeattachments')
  const after = residentMiB(attacher.pid)
  ok(after - before < 48, `from ${before} to ${after} MiB`)
  await attach(t, at, { suffix: '-b' })
  await attached(t, t.name('va-b'))
})

test('no part of a broken answer that may hold a secret is logged', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: [...QUICK, '-v=9'] })
  const name = t.name('credentials')
  await t.create(SECRETS, secret('default', name, { password: 'hunter2' }))
  at.attacher.gate.rules.push(({ resource }) =>
    resource === 'secrets' ? { kind: 'raw', code: 200, bytes: '{"data":{"password":"aHVudGVyMg=="' } : undefined,
  )
  const controllerPublishSecretRef = { name, namespace: 'default' }
  await attach(t, at, { pv: { csi: { controllerPublishSecretRef } } })
  const va = await attachFailed(t, 'no JSON')
  const message = va.status?.attachError?.message ?? ''
  ok(!/aHVud|password/.test(message), message)
  await never('a secret in the log', () => at.attacher.lines.find((line) => line.includes('aHVud')), 500)
})
