import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { hostname } from 'node:os'
import { EVENTS, type Event, LEASES, type Lease } from '@csi-sidecars/kube-types'
import { lease } from '../../harness/api/objects.ts'
import { ETCD_TIRED } from '../../harness/api/write-faults.ts'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import { assertContains } from '../../harness/process/sidecar.ts'
import { leaseName } from '../../harness/subject.ts'
import { sharingCode, testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { renewed, scene, work } from '../../rows/work.ts'

const QUICK = [
  '--leader-election',
  '--leader-election-lease-duration=4s',
  '--leader-election-renew-deadline=3s',
  '--leader-election-retry-period=1s',
]

const nameOf = (t: TestContext): string => leaseName(t.app, t.driverName)
const leaseOf = (t: TestContext, namespace = 'default'): Promise<Lease> =>
  t.api.until(LEASES, { namespace, name: nameOf(t) }, () => true)
const eventOf = (t: TestContext): Promise<Event> =>
  eventually('the event', async () =>
    (await t.api.list(EVENTS, 'default')).find(({ involvedObject }) => involvedObject.name === nameOf(t)),
  )

/** Starts a replica. All replicas of a test share the driver. */
async function replica(t: TestContext, setup: SidecarSetup = {}): Promise<RunningSidecar> {
  const driver = t.drivers[0] ?? (await t.fullDriver())
  return t.sidecar({ driver, ...setup, args: [...QUICK, ...(setup.args ?? [])] })
}

async function leads(t: TestContext, sidecar: RunningSidecar): Promise<void> {
  await sidecar.line('became leader, starting')
  await t.watching(sidecar, 'persistentvolumes')
}

function heldBy(holderIdentity: string, extra: Partial<Lease['spec']> = {}): Lease['spec'] {
  const now = `${new Date().toISOString().slice(0, -1)}000Z`
  return { holderIdentity, leaseDurationSeconds: 4, acquireTime: now, renewTime: now, leaseTransitions: 7, ...extra }
}

for (const app of sharingCode('attacher')) {
  const test = testsOf(app, 'leader election')

  test('a new Lease has a holder, labels and times in microseconds, and each renewal of the Lease takes one PUT', async (t) => {
    const sidecar = await replica(t, { args: ['--leader-election-labels=a:b,c:d'] })
    await leads(t, sidecar)
    const { metadata, spec: made } = await leaseOf(t)
    equal(metadata?.labels, { a: 'b', c: 'd' })
    const { acquireTime, renewTime, ...spec } = made ?? {}
    equal(spec, { holderIdentity: hostname(), leaseDurationSeconds: 4, leaseTransitions: 0 })
    for (const time of [acquireTime, renewTime]) match(time ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    const before = sidecar.gate.writes('leases').length
    await renewed(sidecar, 4)
    const times = sidecar.gate
      .writes('leases')
      .slice(before)
      .map(({ time }) => time)
    const took = (times[3] ?? 0) - (times[0] ?? 0)
    ok(took >= 2_000, `four renewals in ${took} ms`)
    const renewedLease = await leaseOf(t)
    equal(renewedLease.spec?.acquireTime, acquireTime)
    ok((renewedLease.spec?.renewTime ?? '') > (renewTime ?? 'z'))
    await sidecar.gate.settledWrites('leases')
    const seen = sidecar.gate.requestsOf('leases').filter(({ watch }) => !watch)
    const [get, post, ...puts] = seen.map(({ method, code }) => `${method} ${code}`)
    equal([get, post, ...new Set(puts)], ['GET 404', 'POST 201', 'PUT 200'])
    for (const text of ['Attempting to acquire leader lease...', 'Successfully acquired lease']) {
      assertContains(sidecar.linesWith(text)[0], `lock="default/${nameOf(t)}"`)
    }
    const callers = sidecar.gate.requests.map(({ userAgent }) => userAgent)
    equal(new Set(callers).size, 1, `${[...new Set(callers)]}`)
  })

  test('the namespace of the Lease is the flag value, else POD_NAMESPACE, else `default`', async (t) => {
    for (const [args, env, namespace] of [
      [['--leader-election-namespace=kube-public'], { POD_NAMESPACE: 'kube-system' }, 'kube-public'],
      [[], { POD_NAMESPACE: 'kube-system' }, 'kube-system'],
      [[], {}, 'default'],
    ] as const) {
      const sidecar = await replica(t, { args, env })
      await leads(t, sidecar)
      equal((await leaseOf(t, namespace)).spec?.holderIdentity, hostname())
      await sidecar.endBy('SIGKILL')
    }
  })

  test('the holder in the Lease is the host name with dashes instead of dots', async (t) => {
    const sidecar = await replica(t, { hostname: 'node.with.dots' })
    await leads(t, sidecar)
    equal((await leaseOf(t)).spec?.holderIdentity, 'node-with-dots')
  })

  test('a standby takes the Lease of another replica if the Lease was not renewed for its lease duration', async (t) => {
    const spec = heldBy('other', { renewTime: '2020-01-01T00:00:00.000000Z' })
    await t.create(LEASES, lease(nameOf(t), spec, { foreign: 'kept' }))
    const sidecar = await replica(t)
    await sidecar.line('Attempting to acquire leader lease...')
    await leads(t, sidecar)
    const newLease = await leaseOf(t)
    const waited = Date.parse(newLease.spec?.acquireTime ?? '') - sidecar.started
    ok(waited >= 3800, `waited ${waited} ms`)
    equal(newLease.metadata?.labels, { foreign: 'kept' })
    equal(newLease.spec?.holderIdentity, hostname())
    equal(newLease.spec?.leaseTransitions, 8)
  })

  test('a replica takes a Lease without a holder at once', async (t) => {
    await t.create(LEASES, lease(nameOf(t), heldBy('')))
    await leads(t, await replica(t, { args: ['--leader-election-lease-duration=60s'] }))
    equal((await leaseOf(t)).spec?.leaseTransitions, 8)
  })

  test('a restarted replica with the same name takes its old Lease at once', async (t) => {
    const args = ['--leader-election-lease-duration=60s']
    const first = await replica(t, { args })
    await leads(t, first)
    await first.endBy('SIGKILL')
    await leads(t, await replica(t, { args }))
    equal((await leaseOf(t)).spec?.leaseTransitions, 0)
  })

  test('contradicting durations of leader election end the sidecar with exit code 2 and the reason', async (t) => {
    const driver = await t.fullDriver()
    for (const [args, text] of [
      [['--leader-election-lease-duration=10s'], 'leaseDuration must be greater than renewDeadline'],
      [['--leader-election-retry-period=9s'], 'renewDeadline must be greater than retryPeriod*JitterFactor'],
    ] as const) {
      const sidecar = await t.sidecar({ driver, args: ['--leader-election', ...args] })
      equal((await sidecar.end()).code, 2)
      ok(sidecar.stderr.includes(text), sidecar.stderr)
    }
  })

  test('an error in the feature gates or the kubeconfig is reported before invalid durations of leader election', async (t) => {
    const args = ['--leader-election', '--leader-election-lease-duration=10s', '--kubeconfig=/nonexistent']
    const asked = await t.exec([...args, '--version'])
    equal(asked.code, 0)
    ok(asked.stdout.length > 0)
    const gate = await t.exec([...args, '--feature-gates=Nope=true'])
    assertContains(gate.lines.at(-1), 'unrecognized feature gate: Nope')
    const config = await t.exec(args)
    equal(config.code, 1)
    assertContains(config.lines.at(-1), 'stat /nonexistent: no such file or directory')
  })

  test('a new leader sends an event, and keeps running if the API server forbids the event', async (t) => {
    const sidecar = await replica(t)
    await leads(t, sidecar)
    if (app === 'attacher') {
      assertContains(await sidecar.line('Server rejected event (will not retry!)'), 'events is forbidden')
      return
    }
    const event = await eventOf(t)
    equal([event.type, event.reason, event.message], ['Normal', 'LeaderElection', `${hostname()} became leader`])
    equal(event.source?.component, `external-resizer-${t.driverName.replaceAll('.', '-')}/${hostname()}`)
    equal([event.involvedObject.kind, event.involvedObject.apiVersion], ['Lease', 'coordination.k8s.io/v1'])
    equal(event.involvedObject.uid, (await leaseOf(t)).metadata?.uid)
    match(event.involvedObject.resourceVersion ?? '', /^\d+$/)
  })

  test('the leader exits with 1 if it cannot renew its Lease', async (t) => {
    const args = t.ours ? ['--on-lease-loss=exit'] : []
    const sidecar = await replica(t, { args })
    await leads(t, sidecar)
    sidecar.gate.inject('WRITE leases', ETCD_TIRED)
    const began = Date.now()
    equal((await sidecar.end()).code, 1)
    const took = Date.now() - began
    ok(took > 2000 && took < 9000, `ended after ${took} ms`)
    ok(sidecar.linesWith('Failed to renew lease').length > 0, sidecar.stderr)
    ok(sidecar.linesWith('"Stopped leading"')[0]?.startsWith('E') === true, sidecar.stderr)
  })

  test('the leader exits with 1 if another client takes its Lease', async (t) => {
    const args = t.ours ? ['--on-lease-loss=exit'] : []
    const sidecar = await replica(t, { args })
    await leads(t, sidecar)
    await t.api.merge(LEASES, { namespace: 'default', name: nameOf(t) }, { spec: { ...heldBy('thief') } })
    equal((await sidecar.end()).code, 1)
    equal((await leaseOf(t)).spec?.holderIdentity, 'thief')
  })

  test('without ReleaseLeaderElectionOnExit, SIGTERM ends the leader and its Lease keeps the holder', async (t) => {
    const sidecar = await replica(t, { args: ['--feature-gates=ReleaseLeaderElectionOnExit=false'] })
    await leads(t, sidecar)
    const exit = await sidecar.endBy('SIGTERM')
    ok(exit.signal === 'SIGTERM' || exit.code === 143, JSON.stringify(exit))
    equal((await leaseOf(t)).spec?.holderIdentity, hostname())
  })

  test('with ReleaseLeaderElectionOnExit, SIGTERM ends the leader and removes the holder from its Lease', async (t) => {
    const sidecar = await replica(t, { args: ['--feature-gates=ReleaseLeaderElectionOnExit=true'] })
    await leads(t, sidecar)
    const exit = await sidecar.endBy('SIGTERM')
    equal(exit.code, t.ours ? 0 : 1)
    ok(sidecar.linesWith('Received SIGTERM or SIGINT signal, shutting down controller.').length === 1, sidecar.stderr)
    const { spec } = await leaseOf(t)
    equal([spec?.holderIdentity ?? '', spec?.leaseDurationSeconds], ['', 1])
  })

  test('without leader election, the sidecar sends no request for Leases and has no Lease metric', async (t) => {
    const { sidecar } = await scene(t)
    await work(t)
    equal(sidecar.gate.requestsOf('leases'), [])
    equal((await sidecar.metrics()).value('leader_election_master_status'), undefined)
  })

  test('without leader election, a signal leads to exit code 0 only with ReleaseLeaderElectionOnExit', async (t) => {
    for (const [gate, signal] of [
      [false, 'SIGTERM'],
      [false, 'SIGINT'],
      [true, 'SIGTERM'],
      [true, 'SIGINT'],
    ] as const) {
      const driver = await t.fullDriver()
      const sidecar = await t.running({ driver, args: [`--feature-gates=ReleaseLeaderElectionOnExit=${gate}`] })
      const exit = await sidecar.endBy(signal)
      const number = signal === 'SIGTERM' ? 143 : 130
      if (gate) equal({ gate, signal, code: exit.code }, { gate, signal, code: 0 })
      else ok(exit.signal === signal || exit.code === number, JSON.stringify(exit))
    }
  })
}

const attacher = testsOf('attacher', 'leader election')

attacher('the event of a new leader contains the name of the driver', async (t) => {
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  const sidecar = await t.sidecar({ driver, args: QUICK, role: 'resizer' })
  await sidecar.line('became leader, starting')
  const event = await eventOf(t)
  equal(event.message, `${hostname()} became leader`)
  equal(event.source?.component, `external-attacher-leader-${t.driverName}/${hostname()}`)
})
