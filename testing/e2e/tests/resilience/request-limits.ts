import { deepStrictEqual as equal, ok } from 'node:assert'
import { VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { type Gate, seats, tooMany } from '../../harness/api/gate.ts'
import { limitUser } from '../../harness/api/priority-level.ts'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import { type AttacherScene, attachAndWait, scene, suffixes } from '../attacher/scene.ts'

/** API servers that limit the requests of a client, and refuse the rest with a 429. */

const test = testsOf('attacher', 'request limits', { only: 'ours' })

const LINE = 'The API server limits requests'
const COUNT = 100

/** The volumes first, so that each attachment can be done as soon as it is seen. */
async function attachMany(t: TestContext, { node }: Pick<AttacherScene, 'node'>, count: number): Promise<void> {
  const all = suffixes(count)
  for (const suffix of all) await t.createVolume(`many${suffix}`)
  await pause(500)
  await Promise.all(all.map((suffix) => t.createAttachment(`many${suffix}`, { pv: t.name(`many${suffix}`), node })))
}

async function allAttached(t: TestContext, count: number, within: number): Promise<void> {
  const done = async (): Promise<boolean> => {
    const all = (await t.api.list(VOLUME_ATTACHMENTS)).filter(({ spec }) => spec.attacher === t.driverName)
    const errors = all.flatMap(({ status }) => status?.attachError ?? [])
    equal(errors, [])
    return all.filter(({ status }) => status?.attached === true).length === count
  }
  await eventually('all attached', done, { within, every: 200 })
}

/** Answers about the work: refusals, and all others. */
function answersOf({ requests }: Gate): { refused: number; answered: number } {
  const work = requests.filter(({ resource, watch }) => !watch && resource !== 'leases')
  const refused = work.filter(({ code }) => code === 429).length
  return { refused, answered: work.length - refused }
}

for (const { count, workers } of [
  { count: 1, workers: 10 },
  { count: 1, workers: 100 },
  { count: 3, workers: 10 },
  { count: 10, workers: 100 },
]) {
  test(`${count} requests of 10 ms at a time and ${workers} workers: ${COUNT} attaches, and fewer refusals than answers`, {
    target: 'emulator',
    within: 120_000,
    alone: true,
  }, async (t) => {
    const at = await scene(t, { args: ['--leader-election', `--worker-threads=${workers}`] })
    await at.attacher.line('became leader, starting')
    const { gate } = at.attacher
    gate.rules.push(seats(count, 10))
    await attachMany(t, at, COUNT)
    // If each refusal paused all work, this would take a minute and a half.
    await allAttached(t, COUNT, 30_000)
    const { refused, answered } = answersOf(gate)
    ok(refused > 0 && refused < answered, `${refused} refused, ${answered} answered`)
  })
}

test('refusals are reported each ten seconds by the log, by /debug/stuck and by a gauge', {
  within: 60_000,
}, async (t) => {
  const at = await scene(t, { args: ['-v=0'] })
  const { gate } = at.attacher
  const before = await at.attacher.metrics()
  gate.rules.push(({ method }) => (method === 'PATCH' ? tooMany(1) : undefined))
  await attachMany(t, at, 5)
  const line = await at.attacher.line(LINE, { within: 15_000 })
  ok(/refused=\d+ within="10s" inFlight=1/.test(line), line)
  await eventually('a second line', () => at.attacher.linesWith(LINE).length === 2, { within: 15_000 })
  const { apiServer } = JSON.parse((await at.attacher.http('/debug/stuck')).text)
  ok(apiServer.refused >= 5 && apiServer.inFlight === 1, JSON.stringify(apiServer))
  const metrics = await at.attacher.metrics()
  const [first = 0, last] = [before, metrics].map((each) => each.value('csi_sidecar_api_in_flight_limit'))
  // It begins with 16, and lists that were answered have raised it.
  ok(first >= 16 && last === 1, `${first}, then ${last}`)
  ok((metrics.value('rest_client_requests_total', { code: '429', method: 'PATCH' }) ?? 0) >= 5)
  gate.rules.length = 0
  await allAttached(t, 5, 15_000)
})

test('a refused watch is opened as soon as the server allows', { within: 60_000 }, async (t) => {
  const at = await scene(t)
  const { gate } = at.attacher
  const refusals = gate.inject('WATCH volumeattachments', tooMany(1), { times: 8 })
  gate.dropWatches('volumeattachments')
  await eventually('the last refusal', () => refusals.count === 8, { within: 12_000 })
  await attachAndWait(t, at, { within: 3000 })
})

test('a priority level of one share that rejects: 200 attaches, and fewer refusals than answers', {
  target: 'real',
  within: 120_000,
  alone: true,
}, async (t) => {
  const at = await scene(t, { args: ['--leader-election'] })
  await at.attacher.line('became leader, starting')
  const undo = await limitUser(t.api, { name: t.name('limited'), user: at.attacher.user.name })
  try {
    await pause(2000)
    await attachMany(t, at, 200)
    await allAttached(t, 200, 45_000)
  } finally {
    await undo()
  }
  const { refused, answered } = answersOf(at.attacher.gate)
  ok(refused > 0 && refused < answered, `${refused} refused, ${answered} answered`)
  equal(at.attacher.linesWith('Stopped leading'), [])
})
