import { deepStrictEqual as equal, ok } from 'node:assert'
import { LEASES, PERSISTENT_VOLUME_CLAIMS, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import type { SidecarSetup, TestContext } from '../../harness/context.ts'
import type { Call } from '../../harness/driver/driver.ts'
import { leaseName } from '../../harness/subject.ts'
import { sharingCode, testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { detachAndWait, getAttachment } from '../../rows/attacher/scene.ts'
import { getClaim } from '../../rows/resizer/scene.ts'
import { begin, done, ELECTION, LONG_LEASE, renewed, surroundings, WATCHED, type WorkScene } from '../../rows/work.ts'

type Replica = Omit<WorkScene, 'node'>

/** Starts a replica with a separate driver, like a pod. */
async function replica(t: TestContext, hostname: string, setup: SidecarSetup = {}): Promise<Replica> {
  const driver = await t.fullDriver()
  const sidecar = await t.sidecar({ driver, hostname, ...setup, args: [...ELECTION, ...(setup.args ?? [])] })
  return { driver, sidecar }
}

const calls = (t: TestContext, { driver }: Replica): readonly Call[] => driver.callsOf(FACTS[t.app].mainMethod)
const leads = ({ sidecar }: Replica, within = 15_000) => sidecar.line('became leader, starting', { within })

/** Starts two replicas: a leader, and a standby that waits for the Lease. */
async function leaderAndStandby(
  t: TestContext,
  args: readonly string[] = [],
): Promise<{ readonly first: Replica; readonly second: Replica }> {
  const first = await replica(t, 'first', { args })
  await leads(first)
  const second = await replica(t, 'second', { args })
  await second.sidecar.line('Attempting to acquire leader lease...')
  return { first, second }
}

/** Checks that a standby reads the Lease of a running leader twice more, but does not take it. */
async function staysStandby({ sidecar }: Replica): Promise<void> {
  const { gate } = sidecar
  const reads = (): number =>
    gate.requestsOf('leases').filter(({ method, watch, end }) => method === 'GET' && !watch && end).length
  const before = reads()
  await eventually('two reads of the Lease', () => reads() >= before + 2)
  equal(gate.writes('leases'), [])
  equal(sidecar.linesWith('became leader'), [])
}

/** Waits until all replicas that watch have received the object of `begin`. */
async function received(t: TestContext, suffix: string): Promise<void> {
  if (t.app === 'attacher') await t.received(VOLUME_ATTACHMENTS, await getAttachment(t, t.name(`va${suffix}`)))
  else await t.received(PERSISTENT_VOLUME_CLAIMS, await getClaim(t, t.name(`pvc${suffix}`)))
}

/** Checks that no call of one replica overlaps with a call of the other replica. */
function noOverlap(first: readonly Call[], second: readonly Call[]): void {
  for (const a of first) {
    for (const b of second) {
      const apart = (a.end ?? Infinity) <= b.start || (b.end ?? Infinity) <= a.start
      ok(apart, `calls overlap: ${a.start}-${a.end} and ${b.start}-${b.end}`)
    }
  }
}

for (const app of sharingCode('resizer')) {
  const test = testsOf(app, 'leadership', { only: 'ours' })
  /** Declares tests that run with our sidecar and with the Go sidecar. */
  const shared = testsOf(app, 'leadership')
  const { mainMethod: call } = FACTS[app]

  shared('the metrics of a standby show empty queues', async (t) => {
    const { second } = await leaderAndStandby(t)
    const metrics = await second.sidecar.metrics()
    const queues = app === 'attacher' ? ['csi-attacher-va', 'csi-attacher-pv'] : [`${t.driverName}-pvc`]
    for (const name of queues) equal(metrics.value('workqueue_depth', { name }), 0, name)
  })

  test('after SIGTERM during a driver call, the leader saves the result and the standby continues at once', async (t) => {
    await surroundings(t)
    const { first, second } = await leaderAndStandby(t, LONG_LEASE)
    await renewed(first.sidecar)
    const { promise: after, resolve: answer } = Promise.withResolvers<void>()
    first.driver.on(call, { reply: {}, after })
    await begin(t, { suffix: '-long' })
    await eventually('the call', () => calls(t, first).length > 0)
    first.sidecar.signal('SIGTERM')
    await first.sidecar.line('Received SIGTERM or SIGINT signal')
    await begin(t, { suffix: '-next' })
    await staysStandby(second)
    answer()
    equal((await first.sidecar.end()).code, 0)
    await done(t, { suffix: '-long', within: 0 })
    await done(t, { suffix: '-next', within: 20_000 })
    equal(calls(t, first).length, 1)
    equal(calls(t, first)[0]?.code, 0)
    noOverlap(calls(t, first), calls(t, second))
  })

  shared('a new leader whose watches were silent reads the objects again before its first driver call', async (t) => {
    await surroundings(t)
    const { first, second } = await leaderAndStandby(t)
    // A standby of the Go sidecar has no watches.
    if (t.ours) await t.watching(second.sidecar, ...WATCHED[app])
    const { promise: after, resolve: answer } = Promise.withResolvers<void>()
    first.driver.on(call, { reply: {}, after })
    await begin(t, { suffix: '-a' })
    await eventually('the call', () => calls(t, first).length > 0)
    await received(t, '-a')
    second.sidecar.gate.muteWatches()
    answer()
    await done(t, { suffix: '-a', within: 20_000 })
    if (app === 'attacher') await detachAndWait(t, t.name('va-a'))
    await first.sidecar.endBy('SIGTERM')
    await leads(second, 20_000)
    await begin(t, { suffix: '-b' })
    await done(t, { suffix: '-b', within: 20_000 })
    equal(calls(t, second).length, 1)
  })

  shared('after SIGKILL of a leader, the standby repeats the running call once the Lease has expired', async (t) => {
    await surroundings(t)
    const { first } = await leaderAndStandby(t)
    first.driver.on(call, 'hang')
    await begin(t, { suffix: '-a' })
    await eventually('the call', () => calls(t, first).length > 0)
    first.sidecar.signal('SIGKILL')
    const killed = Date.now()
    await done(t, { suffix: '-a', within: 20_000 })
    const gap = Date.now() - killed
    ok(gap < 15_000, `${gap} ms`)
  })

  test('a leader that was frozen until its Lease expired makes no call and becomes a standby', async (t) => {
    await surroundings(t)
    const { first, second } = await leaderAndStandby(t)
    // Driver calls that always fail keep both replicas busy with retries.
    for (const { driver } of [first, second]) driver.on(call, { code: 13, message: 'no' })
    await begin(t, { suffix: '-a' })
    await eventually('calls', () => calls(t, first).length > 1)
    first.sidecar.signal('SIGSTOP')
    await leads(second)
    await eventually('calls of the new leader', () => calls(t, second).length > 1)
    const before = calls(t, first).length
    const woken = Date.now()
    first.sidecar.signal('SIGCONT')
    const standby = 'Attempting to acquire leader lease...'
    await eventually('a standby again', () => first.sidecar.linesWith(standby).length >= 2)
    await renewed(second.sidecar)
    const laterCalls = calls(t, first).slice(before)
    equal(
      laterCalls.filter(({ start }) => start >= woken),
      [],
    )
    equal(first.sidecar.exit, undefined)
    // The old leader leads again after the new leader is killed.
    second.sidecar.signal('SIGKILL')
    const count = calls(t, first).length
    await eventually('calls of the old leader', () => calls(t, first).length > count)
  })

  test('a standby is ready with filled caches, and makes no driver call', async (t) => {
    await surroundings(t)
    const first = await replica(t, 'first')
    await leads(first)
    const second = await replica(t, 'second')
    await t.watching(second.sidecar, 'persistentvolumes')
    const ready = async (): Promise<boolean> => (await second.sidecar.http('/readyz')).code === 200
    await eventually('a ready standby', ready)
    await begin(t, { suffix: '-a' })
    await done(t, { suffix: '-a', within: 20_000 })
    equal(calls(t, second), [])
  })

  const original = (t: TestContext, hostname: string, gate: boolean): Promise<Replica> =>
    replica(t, hostname, { binary: t.original(), args: [`--feature-gates=ReleaseLeaderElectionOnExit=${gate}`] })

  test('on SIGTERM, a Go sidecar hands its Lease to our sidecar, and vice versa', { within: 180_000 }, async (t) => {
    await surroundings(t)
    const first = await original(t, 'go-one', true)
    await leads(first)
    await begin(t, { suffix: '-a' })
    await done(t, { suffix: '-a', within: 20_000 })
    const second = await replica(t, 'ours')
    await second.sidecar.line('Attempting to acquire leader lease...')
    await staysStandby(second)
    first.sidecar.signal('SIGTERM')
    await begin(t, { suffix: '-b' })
    await first.sidecar.end()
    await leads(second)
    await done(t, { suffix: '-b', within: 20_000 })
    const third = await original(t, 'go-two', true)
    await third.sidecar.line('Attempting to acquire leader lease...')
    await staysStandby(third)
    equal((await second.sidecar.endBy('SIGTERM')).code, 0)
    await begin(t, { suffix: '-c' })
    await leads(third)
    await done(t, { suffix: '-c', within: 20_000 })
    noOverlap(calls(t, first), calls(t, second))
    noOverlap(calls(t, second), calls(t, third))
    const { spec } = await t.api.get(LEASES, { namespace: 'default', name: leaseName(app, t.driverName) })
    equal(spec?.holderIdentity, 'go-two')
    ok((spec?.leaseTransitions ?? 0) >= 2)
  })

  test('an expired Lease passes from a killed Go sidecar to our sidecar, and later to a Go sidecar', {
    within: 180_000,
  }, async (t) => {
    await surroundings(t)
    const first = await original(t, 'go-one', false)
    await leads(first)
    const second = await replica(t, 'ours')
    await second.sidecar.line('Attempting to acquire leader lease...')
    first.sidecar.signal('SIGKILL')
    await begin(t, { suffix: '-a' })
    await done(t, { suffix: '-a', within: 20_000 })
    const third = await original(t, 'go-two', false)
    await third.sidecar.line('Attempting to acquire leader lease...')
    await staysStandby(third)
    second.sidecar.signal('SIGKILL')
    await begin(t, { suffix: '-b' })
    await done(t, { suffix: '-b' })
    equal(calls(t, first).length, 0)
    ok(calls(t, third).length > 0)
  })
}
