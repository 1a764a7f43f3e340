import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { Api } from '../../harness/api/api.ts'
import { type Gate, tooMany } from '../../harness/api/gate.ts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import type { FakeDriver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import {
  type AttacherScene,
  allAttached,
  attach,
  attachAndWait,
  attached,
  attachFailed,
  detachAndWait,
  scene,
  suffixes,
  volumeCalls,
} from '../../rows/attacher/scene.ts'
import { conditionsOf, expands, raised, resized, scene as resizerScene } from '../../rows/resizer/scene.ts'
import { ELECTION, QUICK } from '../../rows/work.ts'
import { FLOW_CONTROL, flowSchemaApplied } from '../flow-control.ts'

const test = testsOf('attacher', 'API loss')
const resizer = testsOf('resizer', 'API loss')

interface Outage {
  readonly gate: Gate
  readonly sidecar: RunningSidecar
  readonly driver: FakeDriver
  readonly answer: () => void
}

/** Disconnects the API server, lets the driver answer its call, and returns when the leader has lost its Lease. */
async function loseApiServer({ gate, sidecar, driver, answer }: Outage): Promise<void> {
  await gate.close()
  answer()
  await eventually('the answer of the driver', () => driver.calls.every(({ end }) => end !== undefined))
  await sidecar.line('Failed to renew lease')
}

for (const [how, moreMs] of [
  ['in which the leader loses its Lease', 0],
  ['of more than 40 s', 40_000],
] as const) {
  test(`after an outage of the API server ${how}, running and new attaches complete without an error`, {
    only: 'ours',
    long: moreMs > 0,
  }, async (t) => {
    const at = await scene(t, { args: ELECTION })
    const { promise: after, resolve: answer } = Promise.withResolvers<void>()
    at.driver.on('ControllerPublishVolume', { reply: { publishContext: { a: 'b' } }, after })
    await attach(t, at, { suffix: '-a' })
    await eventually('a call', () => volumeCalls(at.driver).length > 0)
    await loseApiServer({ gate: at.attacher.gate, sidecar: at.attacher, driver: at.driver, answer })
    await attach(t, at, { suffix: '-b' })
    await at.attacher.gate.outage(moreMs)
    const back = Date.now()
    const { status } = await attached(t, t.name('va-a'))
    equal(status, { attached: true, attachmentMetadata: { a: 'b' } })
    await attached(t, t.name('va-b'))
    ok(Date.now() - back < 20_000, `${Date.now() - back} ms`)
    equal(at.attacher.exit, undefined)
  })
}

test('the attacher misses no event although its watches are dropped repeatedly', async (t) => {
  const at = await scene(t, { args: [...QUICK, '--kube-api-qps=200', '--kube-api-burst=200'] })
  const rounds = suffixes(12)
  for (const suffix of rounds) {
    await attach(t, at, { suffix })
    at.attacher.gate.dropWatches()
    await t.watching(at.attacher, 'volumeattachments')
  }
  await allAttached(t, rounds)
  for (const [round, suffix] of rounds.entries()) {
    await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name(`va${suffix}`) })
    if (round % 3 === 0) at.attacher.gate.dropWatches('volumeattachments')
  }
  for (const suffix of rounds) await t.api.untilGone(VOLUME_ATTACHMENTS, { name: t.name(`va${suffix}`) })
})

resizer('an expansion completes if the driver answers during an API server outage', { only: 'ours' }, async (t) => {
  const at = await resizerScene(t, { args: ELECTION })
  const { promise: after, resolve: answer } = Promise.withResolvers<void>()
  at.driver.on('ControllerExpandVolume', { reply: {}, after })
  await raised(t)
  await eventually('a call', () => expands(at).length > 0)
  await loseApiServer({ gate: at.resizer.gate, sidecar: at.resizer, driver: at.driver, answer })
  await at.resizer.gate.open()
  const claim = await resized(t, '2Gi')
  equal(conditionsOf(claim), [])
  equal(at.resizer.exit, undefined)
})

test('the attacher continues after a restart of the API server', { target: 'real', alone: 'cluster' }, async (t) => {
  const at = await scene(t, { args: QUICK })
  await attachAndWait(t, at, { suffix: '-a' })
  await t.cluster.restart(async () => undefined)
  await attachAndWait(t, at, { suffix: '-b' })
  await detachAndWait(t, t.name('va-a'))
  equal(at.attacher.exit, undefined)
})

test('the attacher misses no event if etcd is compacted between watches', {
  target: 'real',
  alone: 'cluster',
}, async (t) => {
  const at = await scene(t, { args: QUICK })
  await attachAndWait(t, at, { suffix: '-a' })
  await at.attacher.gate.close()
  await attach(t, at, { suffix: '-b' })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name('va-a') })
  await t.cluster.restart(() => t.cluster.compact())
  await attach(t, at, { suffix: '-c' })
  await at.attacher.gate.open()
  await allAttached(t, ['-b', '-c'])
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name: t.name('va-a') })
})

test('the attacher misses no event if etcd compacts the resourceVersion of its watch', {
  target: 'emulator',
  alone: 'cluster',
}, async (t) => {
  const at = await scene(t, { args: QUICK })
  await at.attacher.gate.close()
  await attach(t, at, { suffix: '-a' })
  await t.cluster.compact()
  await at.attacher.gate.open()
  await attached(t, t.name('va-a'), { within: t.ours ? 15_000 : 60_000 })
})

const faults = testsOf('attacher', 'API faults', { only: 'ours' })

const CLOSING = 'No answer from the API server, closing the connections that are older than the request'

/** The connections rest for this time, before a fault is injected into them. */
const AT_REST_MS = 5000

/** Starts an attacher, lets it attach a volume, and then leaves its connections at rest. */
async function attachedAtRest(t: TestContext, election: boolean): ReturnType<typeof scene> {
  const at = await scene(t, { args: [...QUICK, ...(election ? ['--leader-election'] : [])] })
  if (election) await at.attacher.line('became leader, starting')
  await attachAndWait(t, at, { suffix: '-a' })
  await pause(AT_REST_MS)
  return at
}

for (const election of [true, false]) {
  const how = election ? 'with' : 'without'
  faults(
    `${how} leader election, the attacher resumes a silent watch within 55 s without a new list`,
    { within: 150_000, long: true },
    async (t) => {
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
    },
  )

  faults(
    `${how} leader election, the attacher replaces dead connections within 30 s`,
    { within: 150_000, long: true },
    async (t) => {
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
    },
  )
}

faults('the attacher does not log a broken answer of the API server that may contain a Secret', async (t) => {
  const at = await scene(t, { args: [...QUICK, '-v=9'] })
  const controllerPublishSecretRef = await t.createSecret({ password: 'hunter2' })
  at.attacher.gate.inject('* secrets', { kind: 'raw', code: 200, bytes: '{"data":{"password":"aHVudGVyMg=="' })
  await attach(t, at, { pv: { csi: { controllerPublishSecretRef } } })
  const va = await attachFailed(t, 'no JSON')
  const message = va.status?.attachError?.message ?? ''
  ok(!/aHVud|password/.test(message), message)
  // Log lines are in order: after a line of a later attach, all lines of the failure are read.
  await attachAndWait(t, at, { suffix: '-later' })
  await at.attacher.line(t.name('va-later'))
  equal(at.attacher.linesWith('aHVud'), [])
})

/** Tests with an API server that limits the concurrent requests of a client, and refuses further ones with 429. */

const limits = testsOf('attacher', 'request limits', { only: 'ours' })

const LINE = 'The API server limits requests'

/** Creates many attachments. Creates their volumes first, so that each attachment can be processed at once. */
async function attachMany(t: TestContext, { node }: Pick<AttacherScene, 'node'>, count: number): Promise<void> {
  const all = suffixes(count)
  for (const suffix of all) await t.createVolume(`many${suffix}`)
  const name = t.name(`many${all.at(-1)}`)
  await t.received(PERSISTENT_VOLUMES, await t.api.get(PERSISTENT_VOLUMES, { name }))
  await Promise.all(all.map((suffix) => t.createAttachment(`many${suffix}`, { pv: t.name(`many${suffix}`), node })))
}

async function manyAttached(t: TestContext, count: number, within: number): Promise<void> {
  const done = async (): Promise<boolean> => {
    const all = (await t.api.list(VOLUME_ATTACHMENTS)).filter(({ spec }) => spec.attacher === t.driverName)
    const errors = all.flatMap(({ status }) => status?.attachError ?? [])
    equal(errors, [])
    return all.filter(({ status }) => status?.attached === true).length === count
  }
  await eventually('all attached', done, { within, every: 200 })
}

/** Counts the refused and the answered requests, without watches and requests for Leases. */
function answersOf({ requests }: Gate): { refused: number; answered: number } {
  const work = requests.filter(({ resource, watch }) => !watch && resource !== 'leases')
  const refused = work.filter(({ code }) => code === 429).length
  return { refused, answered: work.length - refused }
}

limits(
  'requests that the API server refuses with 429 appear in the log, /debug/stuck and a metric',
  { within: 60_000 },
  async (t) => {
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
    // The sidecar starts with a limit of 16 concurrent requests. Answered lists raise it, and refusals lower it to 1.
    ok(first >= 16 && last === 1, `${first}, then ${last}`)
    ok((metrics.value('rest_client_requests_total', { code: '429', method: 'PATCH' }) ?? 0) >= 5)
    gate.rules.length = 0
    await manyAttached(t, 5, 15_000)
  },
)

limits(
  'an API server with a request limit refuses fewer requests of the attacher than it answers',
  { target: 'real', within: 240_000, alone: 'cluster' },
  async (t) => {
    const at = await scene(t, { args: ['--leader-election'] })
    await at.attacher.line('became leader, starting')
    const undo = await limitUser(t.api, { name: t.name('limited'), user: at.attacher.user.name })
    try {
      await attachMany(t, at, 200)
      await manyAttached(t, 200, 120_000)
    } finally {
      await undo()
    }
    const { refused, answered } = answersOf(at.attacher.gate)
    ok(refused > 0 && refused < answered, `${refused} refused, ${answered} answered`)
    equal(at.attacher.linesWith('Stopped leading'), [])
  },
)

/**
 * Creates a priority level of the API server for one user, with the smallest share, which borrows from no other level. The
 * API server rejects all requests above this share. Returns a function that removes the priority level.
 */
async function limitUser(api: Api, { name, user }: { name: string; user: string }): Promise<() => Promise<void>> {
  const common = { apiVersion: 'flowcontrol.apiserver.k8s.io/v1', metadata: { name } }
  await api.call('POST', `${FLOW_CONTROL}/prioritylevelconfigurations`, {
    body: {
      ...common,
      kind: 'PriorityLevelConfiguration',
      spec: {
        type: 'Limited',
        limited: { nominalConcurrencyShares: 1, borrowingLimitPercent: 0, limitResponse: { type: 'Reject' } },
      },
    },
  })
  const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }
  await api.call('POST', `${FLOW_CONTROL}/flowschemas`, {
    body: {
      ...common,
      kind: 'FlowSchema',
      spec: {
        matchingPrecedence: 100,
        priorityLevelConfiguration: { name },
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: user } }],
            resourceRules: [all],
            nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
          },
        ],
      },
    },
  })
  await flowSchemaApplied(api, name)
  return async () => {
    for (const plural of ['flowschemas', 'prioritylevelconfigurations']) {
      await api.call('DELETE', `${FLOW_CONTROL}/${plural}/${name}`)
    }
  }
}
