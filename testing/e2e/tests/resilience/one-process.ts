import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { inParallel } from '@csi-sidecars/base'
import { CLUSTER_ROLES, LEASES } from '@csi-sidecars/kube-types'
import { LIVENESSPROBE, PREVIEWS, SIDECARS } from '@csi-sidecars/sidecars'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { partOf } from '../../harness/api/gate.ts'
import { lease } from '../../harness/api/objects.ts'
import { userWith } from '../../harness/api/user.ts'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import { attach, attachAndWait, attached, suffixes } from '../attacher/scene.ts'
import { grown, raised, resized, untilEvent } from '../resizer/scene.ts'
import { WATCHED, type WorkScene } from '../work.ts'
import { connectionsTo, ELECTION, leasesOf, scene } from './one-process-scene.ts'

const test = testsOf('both', 'one process')
const OURS = { only: 'ours' } as const

/** An attach and an expansion, both to their end. */
async function workOfBoth(t: TestContext, at: { readonly node: string }, suffix = ''): Promise<void> {
  await attach(t, at, { suffix: `${suffix}-a` })
  await raised(t, { suffix: `${suffix}-r` })
  await attached(t, t.name(`va${suffix}-a`))
  await resized(t, '2Gi', t.name(`pvc${suffix}-r`))
}

test('one list and watch of each kind, one connection to the driver, two leases', OURS, async (t) => {
  // Without it a kind is asked for three times: refused, listed, watched.
  t.requires('sendInitialEvents')
  const at = await scene(t, { args: ELECTION })
  await workOfBoth(t, at)
  const reads = at.sidecar.gate.requests
    .filter(({ method, name, resource }) => method === 'GET' && name === undefined && resource !== '')
    .map(({ resource }) => resource)
  // A list comes with the watch, in one request.
  equal(reads.filter((resource) => resource !== 'leases').sort(), [...WATCHED.both].sort())
  equal(connectionsTo(at.driver), 1)
  for (const method of ['Probe', 'GetPluginInfo', 'GetPluginCapabilities', 'ControllerGetCapabilities']) {
    equal([method, at.driver.callsOf(method).length], [method, 1])
  }
  await pause(2500)
  const renewed = at.sidecar.gate.writes('leases').map(({ method, name }) => `${method} ${name}`)
  equal([...new Set(renewed.filter((line) => line.startsWith('PUT')))].sort(), [
    `PUT ${leasesOf(t).attacher}`,
    `PUT ${leasesOf(t).resizer}`,
  ])
  const metrics = await at.sidecar.metrics()
  for (const name of Object.values(leasesOf(t))) equal(metrics.value('leader_election_master_status', { name }), 1)
  const calls = at.sidecar.lines.filter((line) => /"GRPC call" .*Controller(?:Publish|Expand)/.test(line))
  equal(calls.map((line) => /sidecar="([^"]*)"/.exec(line)?.[1]).sort(), ['csi-attacher', 'csi-resizer'])
  equal((await at.sidecar.endBy('SIGTERM')).code, 0)
  if (t.target === 'real') await eventually('one read of volumes in the audit log', () => noted(t, at) === 1)
})

/** Lists and watches of PersistentVolumes as the server has noted them; a watch is noted when it ends. */
function noted(t: TestContext, { sidecar }: WorkScene): number {
  const lines = t.cluster.auditOf([sidecar.user])
  return lines.filter((line) => /"verb":"(?:list|watch)".*"resource":"persistentvolumes"/.test(line)).length
}

test('a resizer that may not read claims delays no attach, /readyz says so, and it recovers', OURS, async (t) => {
  const rules = [...FACTS.attacher.rules, ...FACTS.resizer.rules]
  const user = await userWith(
    t,
    rules.filter(({ resources }) => !resources?.includes('persistentvolumeclaims')),
  )
  const at = await scene(t, { user, watches: ['volumeattachments', 'csinodes', 'persistentvolumes'] })
  await attachAndWait(t, at, { within: 5000 })
  const { code, text } = await at.sidecar.http('/readyz')
  equal(code, 503)
  match(text, /cache of PersistentVolumeClaims of csi-resizer is not filled yet/)
  ok(!text.includes('csi-attacher'), text)
  await t.api.merge(CLUSTER_ROLES, { name: t.name('role') }, { rules })
  await grown(t, { suffix: '-later' })
})

const BAD = 200
const LONG_ALONE = { ...OURS, target: 'emulator', alone: true, long: true } as const

test(`${BAD} claims that fail repeatedly delay no attach`, {
  ...OURS,
  alone: true,
  within: 240_000,
}, async (t) => {
  const at = await scene(t, {
    args: ['--resizer-retry-interval-start=50ms', '--resizer-retry-interval-max=1s', '-v=2'],
  })
  at.driver.on('ControllerExpandVolume', { code: 3, message: 'never' })
  await inParallel(12, suffixes(BAD), (suffix) => raised(t, { suffix: `-bad${suffix}` }))
  await untilEvent(t, 'never', t.name('pvc-bad-0'))
  const failing = at.driver.callsOf('ControllerExpandVolume').length
  for (let index = 0; index < 10; index += 1) {
    await attachAndWait(t, at, { suffix: `-${index}`, within: 3000 })
  }
  ok(at.driver.callsOf('ControllerExpandVolume').length > failing, 'claims kept failing meanwhile')
})

test('claims that fail leave --kube-api-qps to the attacher', { ...LONG_ALONE, within: 120_000 }, async (t) => {
  const rate = ['--kube-api-qps=5', '--kube-api-burst=10']
  const retries = ['--resizer-retry-interval-start=100ms', '--resizer-retry-interval-max=200ms']
  const at = await scene(t, { args: [...rate, ...retries] })
  at.driver.on('ControllerExpandVolume', { code: 13, message: 'never' })
  const bad = suffixes(20)
  await Promise.all(bad.map((suffix) => raised(t, { suffix: `-bad${suffix}` })))
  const tried = (): boolean => at.driver.callsOf('ControllerExpandVolume').length > bad.length + 10
  await eventually('retries', tried, { within: 60_000 })
  // Behind ten of their writes with each of its three it would take six seconds and more.
  await attachAndWait(t, at, { within: 3000 })
})

test('a lost lease stops only its controller', {
  ...OURS,
  within: 180_000,
}, async (t) => {
  const at = await scene(t, { args: ELECTION })
  await workOfBoth(t, at)
  const name = leasesOf(t).resizer
  const ref = { namespace: 'default', name }
  const renewTime = new Date().toISOString().replace('Z', '000Z')
  await t.api.merge(LEASES, ref, { spec: { holderIdentity: 'another-holder', renewTime } })
  const lost = await at.sidecar.line('Stopped leading')
  match(lost, /sidecar="csi-resizer"/)
  await attachAndWait(t, at, { suffix: '-meanwhile', within: 3000 })
  const status = async (lease: string): Promise<number | undefined> =>
    (await at.sidecar.metrics()).value('leader_election_master_status', { name: lease })
  equal(await status(leasesOf(t).attacher), 1)
  await eventually('the resizer leads again', async () => (await status(name)) === 1, { within: 20_000 })
  await workOfBoth(t, at, '-after')
  equal(at.sidecar.linesWith('Stopped leading').length, 1)
  equal(at.sidecar.exit, undefined)
})

test('a single lease waits for the former leases, and reports when one is acquired later', {
  ...OURS,
  within: 200_000,
  long: 'emulator',
}, async (t) => {
  const old = leasesOf(t).attacher
  const now = (): string => new Date().toISOString().replace('Z', '000Z')
  const held = { holderIdentity: 'go-one', leaseDurationSeconds: 600, acquireTime: now(), renewTime: now() }
  await t.create(LEASES, lease(old, held))
  const at = await scene(t, { args: [...ELECTION, `--single-lease=${t.name('both')}`], watches: [] })
  match(await at.sidecar.line('Waiting for a lease of another sidecar'), new RegExp(`lease="${old} \\(go-one\\)"`))
  await attach(t, at)
  await never('an attach', () => at.driver.callsOf('ControllerPublishVolume').length > 0, 2000)
  equal(at.sidecar.gate.writes('leases'), [])
  // The pod must become ready, because the Deployment of the current leader may wait for it.
  await eventually('ready', async () => (await at.sidecar.http('/readyz')).code === 200)
  const ref = { namespace: 'default', name: old }
  await t.api.merge(LEASES, ref, { spec: { holderIdentity: '' } })
  await attached(t)
  await workOfBoth(t, at)
  await pause(1500)
  equal(
    [...new Set(at.sidecar.gate.writes('leases').map((write) => partOf(write, 'metadata', 'name')))],
    [t.name('both')],
  )
  await t.api.merge(LEASES, ref, { spec: { holderIdentity: 'go-two', renewTime: now() } })
  const line = await at.sidecar.line('A lease of another sidecar is held', { within: 70_000 })
  match(line, new RegExp(`lease="${old} \\(go-two\\)"`))
})

const ONCE = { ...OURS, target: 'emulator' } as const

test('every flag of both exists, in groups, and is accepted with its prefix', ONCE, async (t) => {
  const help = await t.exec(['--help'], { app: 'both' })
  equal([help.code, help.stdout], [0, ''])
  const [shared = '', ...groups] = help.stderr.split(/^(?=Flags of the )/m)
  equal(shared.match(/ReleaseLeaderElectionOnExit/g)?.length, 1)
  for (const name of ['controllers', 'single-lease', 'csi-address', 'leader-election', 'v']) {
    ok(shared.includes(`\n  -${name}`), name)
  }
  const values = [...[...SIDECARS, ...PREVIEWS].map(({ value }) => value), LIVENESSPROBE]
  equal(groups.length, values.length)
  for (const [index, { prefix, flags }] of values.entries()) {
    const names = [...(groups[index] ?? '').matchAll(/^ {2}-(\S+)/gm)].map(([, name]) => name)
    for (const { name } of flags) ok(names.includes(`${prefix}-${name}`), `${prefix}-${name}`)
  }
  const args = ['--attacher-timeout=1m', '--resizer-timeout=2m', '--worker-threads=3', '--workers=4', '--version']
  equal((await t.exec(args, { app: 'both' })).code, 0)
})

const REFUSED: readonly (readonly [args: readonly string[], line: string])[] = [
  [
    ['--controllers=driver'],
    'invalid value "driver" for flag -controllers: "driver" is none of attacher, resizer, provisioner, snapshotter, livenessprobe',
  ],
  [
    ['--controllers=attacher', '--resizer-workers=3'],
    'flag -resizer-workers is for controller resizer, which --controllers leaves out',
  ],
  [['--controllers=resizer', '--resync=1m'], 'flag -resync is for controller attacher, which --controllers leaves out'],
  [['--single-lease=x'], 'flag -single-lease needs -leader-election'],
  [
    ['--single-lease=x', '--leader-election', '--resizer-leader-election=false'],
    'flag -resizer-leader-election is for a lease of its own, and -single-lease is one lease for all',
  ],
  [['--attacher-csi-address=x'], 'flag provided but not defined: -attacher-csi-address'],
]

test('impossible combinations are refused in one line before the usage', ONCE, async (t) => {
  for (const [args, line] of REFUSED) {
    const { code, stderr } = await t.exec(args, { app: 'both' })
    equal({ args, code, line: stderr.split('\n')[0] }, { args, code: 2, line })
  }
  const gate = await t.exec(['--feature-gates=Nobodys=true'], { app: 'both' })
  equal(gate.code, 1)
  match(gate.lines.at(-1) ?? '', /"Failed to set feature gates" err=.*Nobodys/)
  const ofOther = await t.exec(['--resizer-feature-gates=MutableCSINodeAllocatableCount=true'], { app: 'both' })
  match(ofOther.lines.at(-1) ?? '', /"Failed to set feature gates" err=.* sidecar="csi-resizer"$/)
})

test('leases that are requested one by one are part of the health check, too', ONCE, async (t) => {
  const args = [...ELECTION.slice(1), '--attacher-leader-election', '--resizer-leader-election']
  const at = await scene(t, { args })
  await workOfBoth(t, at)
  equal((await at.sidecar.http('/healthz/leader-election')).code, 200)
})

test('a driver that neither expands nor modifies: 255, and how to start without the resizer', OURS, async (t) => {
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  const sidecar = await t.sidecar({ app: 'both', driver })
  equal((await sidecar.end()).code, 255)
  match(sidecar.lines.at(-1) ?? '', /CSI driver does not support resize nor modify: use --controllers=attacher/)
})

test('a driver without a controller service: 1, and how to start without the resizer', ONCE, async (t) => {
  const sidecar = await t.sidecar({ app: 'both', driver: await t.driver({ controllerService: false }) })
  equal((await sidecar.end()).code, 1)
  const line = /"Failed to create CSI resizer: use --controllers=attacher" err="CSI driver does not support controller/
  match(sidecar.lines.at(-1) ?? '', line)
})
