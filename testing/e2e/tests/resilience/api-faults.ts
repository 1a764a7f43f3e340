import { deepStrictEqual as equal, ok } from 'node:assert'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { never, pause } from '../../harness/waiting.ts'
import { attach, attachAndWait, attachFailed, scene } from '../attacher/scene.ts'

const test = testsOf('attacher', 'API faults', { only: 'ours' })

const QUICK = ['--retry-interval-start=200ms', '--retry-interval-max=1s']
const CLOSING = 'No answer from the API server, closing the connections that are older than the request'

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
