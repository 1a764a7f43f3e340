import { deepStrictEqual as equal, ok } from 'node:assert'
import {
  CSI_NODES,
  LEASES,
  PERSISTENT_VOLUME_CLAIMS,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import { csiNode, storageClass } from '../../harness/api/objects.ts'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import type { Call, Driver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import { attach } from '../attacher/scene.ts'
import { ask, bound, GI } from '../resizer/scene.ts'

const ELECTION = [
  '--leader-election',
  '--leader-election-lease-duration=6s',
  '--leader-election-renew-deadline=4s',
  '--leader-election-retry-period=1s',
  '--retry-interval-start=200ms',
  '--retry-interval-max=1s',
]
const CALL = { attacher: 'ControllerPublishVolume', resizer: 'ControllerExpandVolume' }
/** Waits until the work is done. */
const REPLY = { attacher: {}, resizer: { capacityBytes: BigInt(2 * GI), nodeExpansionRequired: false } }

interface Replica {
  readonly driver: Driver
  readonly sidecar: RunningSidecar
}

/** A replica with its own driver, like a pod. */
async function replica(t: TestContext, hostname: string, setup: SidecarSetup = {}): Promise<Replica> {
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
  driver.on('ControllerExpandVolume', { reply: REPLY.resizer })
  const sidecar = await t.sidecar({ driver, hostname, ...setup, args: [...ELECTION, ...(setup.args ?? [])] })
  return { driver, sidecar }
}

async function ground(t: TestContext): Promise<void> {
  if (t.app === 'attacher') await t.create(CSI_NODES, csiNode(t.name('node'), { [t.driverName]: 'n1' }))
  else await t.create(STORAGE_CLASSES, storageClass(t.name('class'), t.driverName))
}

/** One piece of work that ends in a call. */
async function work(t: TestContext, suffix: string): Promise<void> {
  if (t.app === 'attacher') {
    await attach(t, { node: t.name('node') }, { suffix })
    return
  }
  const { pvc } = await bound(t, { suffix })
  await ask(t, '2Gi', pvc)
}

async function done(t: TestContext, suffix: string): Promise<boolean> {
  if (t.app === 'attacher') {
    return (await t.api.get(VOLUME_ATTACHMENTS, { name: t.name(`va${suffix}`) })).status?.attached === true
  }
  const claim = await t.api.get(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: t.name(`pvc${suffix}`) })
  return claim.status?.capacity?.['storage'] === '2Gi'
}

const isDone = (t: TestContext, suffix: string, within = 20_000) =>
  eventually(`work ${suffix} done`, () => done(t, suffix), { within })
const calls = (t: TestContext, { driver }: Replica): readonly Call[] => driver.callsOf(CALL[t.app])
const leads = ({ sidecar }: Replica, within = 15_000) => sidecar.line('became leader, starting', { within })

/** Two replicas: one that leads, and one that waits for its lease. */
async function leaderAndStandby(t: TestContext): Promise<{ readonly first: Replica; readonly second: Replica }> {
  const first = await replica(t, 'first')
  await leads(first)
  const second = await replica(t, 'second')
  await second.sidecar.line('Attempting to acquire leader lease...')
  return { first, second }
}

/** No call of one while the other works: the last of the first ends before the first of the second begins. */
function noOverlap(first: readonly Call[], second: readonly Call[]): void {
  for (const a of first) {
    for (const b of second) {
      const apart = (a.end ?? Infinity) <= b.start || (b.end ?? Infinity) <= a.start
      ok(apart, `calls overlap: ${a.start}-${a.end} and ${b.start}-${b.end}`)
    }
  }
}

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'leadership')

  test('a standby shows its empty queues', async (t) => {
    const { second } = await leaderAndStandby(t)
    const metrics = await second.sidecar.metrics()
    const queues = app === 'attacher' ? ['csi-attacher-va', 'csi-attacher-pv'] : [`${t.driverName}-pvc`]
    for (const name of queues) equal(metrics.value('workqueue_depth', { name }), 0, name)
  })

  test('SIGTERM during a long call: it ends, is saved, the lease is released, the standby continues at once', {
    only: 'ours',
  }, async (t) => {
    await ground(t)
    const { first, second } = await leaderAndStandby(t)
    await pause(1500)
    first.driver.on(CALL[app], { reply: REPLY[app], after: 5000 })
    await work(t, '-long')
    await eventually('the call', () => calls(t, first).length > 0)
    first.sidecar.signal('SIGTERM')
    await first.sidecar.line('Received SIGTERM or SIGINT signal')
    await work(t, '-next')
    equal((await first.sidecar.end()).code, 0)
    equal(await done(t, '-long'), true)
    await isDone(t, '-next')
    equal(calls(t, first).length, 1)
    equal(calls(t, first)[0]?.code, 0)
    const gap = (calls(t, second)[0]?.start ?? Infinity) - (calls(t, first)[0]?.end ?? 0)
    ok(gap < 2000, `the standby began ${gap} ms later`)
    noOverlap(calls(t, first), calls(t, second))
  })

  test('a standby whose watches have hung reads again before it acts', async (t) => {
    await ground(t)
    const { first, second } = await leaderAndStandby(t)
    first.driver.on(CALL[app], { reply: REPLY[app], after: 2000 })
    await work(t, '-a')
    await eventually('the call', () => calls(t, first).length > 0)
    await pause(1000)
    second.sidecar.gate.muteWatches()
    await isDone(t, '-a')
    if (app === 'attacher') {
      await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name('va-a') })
      await t.api.untilGone(VOLUME_ATTACHMENTS, { name: t.name('va-a') })
    }
    first.sidecar.signal('SIGTERM')
    await first.sidecar.end()
    await leads(second, 20_000)
    await work(t, '-b')
    await isDone(t, '-b')
    equal(calls(t, second).length, 1)
  })

  test('SIGKILL: the standby takes over when the lease has expired, and repeats what was under way', async (t) => {
    await ground(t)
    const { first } = await leaderAndStandby(t)
    first.driver.on(CALL[app], 'hang')
    await work(t, '-a')
    await eventually('the call', () => calls(t, first).length > 0)
    first.sidecar.signal('SIGKILL')
    const killed = Date.now()
    await isDone(t, '-a')
    const gap = Date.now() - killed
    ok(gap < (t.ours ? 8500 : 11_000), `${gap} ms`)
  })

  test('frozen beyond its lease and resumed: no further call, and a standby again', { only: 'ours' }, async (t) => {
    await ground(t)
    const { first, second } = await leaderAndStandby(t)
    // Work that always fails keeps both busy.
    for (const { driver } of [first, second]) driver.on(CALL[app], { code: 13, message: 'no' })
    await work(t, '-a')
    await eventually('calls', () => calls(t, first).length > 1)
    first.sidecar.signal('SIGSTOP')
    await leads(second)
    await eventually('calls of the new leader', () => calls(t, second).length > 1)
    const before = calls(t, first).length
    const woken = Date.now()
    first.sidecar.signal('SIGCONT')
    await pause(4000)
    const later = calls(t, first)
      .slice(before)
      .filter(({ start }) => start >= woken)
    equal(later.length, 0)
    equal(first.sidecar.exit, undefined)
    // And it can lead again.
    second.sidecar.signal('SIGKILL')
    const count = calls(t, first).length
    await eventually('calls of the old leader', () => calls(t, first).length > count, { within: 15_000 })
  })

  test('lease writes fail for longer than the renew deadline: no call after it, the process keeps running and leads again', {
    only: 'ours',
  }, async (t) => {
    await ground(t)
    const only = await replica(t, 'only')
    await leads(only)
    only.driver.on(CALL[app], { code: 13, message: 'no' })
    await work(t, '-a')
    await eventually('calls', () => calls(t, only).length > 1)
    let failing = true
    only.sidecar.gate.rules.push(({ resource, method }) =>
      failing && resource === 'leases' && method !== 'GET' ? refusal(500, 'InternalError', 'etcd is tired') : undefined,
    )
    const began = Date.now()
    await pause(12_000)
    const late = calls(t, only).filter(({ start }) => start > began + 4200)
    equal(late.length, 0)
    equal(only.sidecar.exit, undefined)
    failing = false
    const count = calls(t, only).length
    await eventually('calls again', () => calls(t, only).length > count, { within: 15_000 })
  })

  test('a standby answers /readyz and serves metrics with warm caches', { only: 'ours' }, async (t) => {
    await ground(t)
    const first = await replica(t, 'first')
    await leads(first)
    const second = await replica(t, 'second')
    await t.watching(second.sidecar, 'persistentvolumes')
    const ready = async (): Promise<boolean> => (await second.sidecar.http('/readyz')).code === 200
    await eventually('a ready standby', ready)
    await work(t, '-a')
    await isDone(t, '-a')
    equal(calls(t, second), [])
  })

  test('SIGTERM ends a standby at once', { only: 'ours' }, async (t) => {
    const { second } = await leaderAndStandby(t)
    second.sidecar.signal('SIGTERM')
    equal((await second.sidecar.end(3000)).code, 0)
  })

  const original = (t: TestContext, hostname: string, gate: boolean): Promise<Replica> =>
    replica(t, hostname, { binary: t.original(), args: [`--feature-gates=ReleaseLeaderElectionOnExit=${gate}`] })

  test('an original hands over to ours, and ours back to an original', { only: 'ours', within: 180_000 }, async (t) => {
    await ground(t)
    const first = await original(t, 'go-one', true)
    await leads(first)
    await work(t, '-a')
    await isDone(t, '-a')
    const second = await replica(t, 'ours')
    await second.sidecar.line('Attempting to acquire leader lease...')
    await pause(1500)
    await never('two leaders', () => second.sidecar.linesWith('became leader').length > 0, 1500)
    first.sidecar.signal('SIGTERM')
    await work(t, '-b')
    await first.sidecar.end()
    await leads(second)
    await isDone(t, '-b')
    const third = await original(t, 'go-two', true)
    await third.sidecar.line('Attempting to acquire leader lease...')
    await never('two leaders', () => third.sidecar.linesWith('became leader').length > 0, 3000)
    second.sidecar.signal('SIGTERM')
    equal((await second.sidecar.end()).code, 0)
    await work(t, '-c')
    await leads(third)
    await isDone(t, '-c')
    noOverlap(calls(t, first), calls(t, second))
    noOverlap(calls(t, second), calls(t, third))
    const name =
      (app === 'attacher' ? 'external-attacher-leader-' : 'external-resizer-') + t.driverName.replaceAll('.', '-')
    const { spec } = await t.api.get(LEASES, { namespace: 'default', name })
    equal(spec?.holderIdentity, 'go-two')
    ok((spec?.leaseTransitions ?? 0) >= 2)
  })

  test('killed: ours takes over the expired lease of an original, and an original ours', {
    only: 'ours',
    within: 180_000,
  }, async (t) => {
    await ground(t)
    const first = await original(t, 'go-one', false)
    await leads(first)
    const second = await replica(t, 'ours')
    await second.sidecar.line('Attempting to acquire leader lease...')
    first.sidecar.signal('SIGKILL')
    await work(t, '-a')
    await isDone(t, '-a')
    const third = await original(t, 'go-two', false)
    await third.sidecar.line('Attempting to acquire leader lease...')
    await never('two leaders', () => third.sidecar.linesWith('became leader').length > 0, 3000)
    second.sidecar.signal('SIGKILL')
    await work(t, '-b')
    await isDone(t, '-b', 30_000)
    equal(calls(t, first).length, 0)
    ok(calls(t, third).length > 0)
  })
}
