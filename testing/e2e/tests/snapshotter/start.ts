import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { EVENTS, LEASES, VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import { leaseName } from '../../harness/subject.ts'
import { testsOf, WITHOUT_API } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import type { Answers } from '../../rows/actions.ts'
import { group, snapshotterRows } from '../../rows/snapshotter/rows.ts'
import {
  createClass,
  createContent,
  createGroup,
  createGroupClass,
  groupReady,
  ready,
  SNAPSHOTS,
  scene,
  snapshotCalls,
  snapshotDriver,
  snapshotTaken,
} from '../../rows/snapshotter/scene.ts'
import { startsOf } from '../../rows/starts.ts'

const test = testsOf('snapshotter', 'start')
const app = 'snapshotter'
const ELECTION = ['--leader-election', '--leader-election-namespace=default']
const INTERNAL = { code: 13, message: 'no' }

const starts = startsOf(app, 'start', import.meta.filename)

const REFUSALS: Readonly<Record<string, readonly string[]>> = {
  'an unknown feature gate': ['--feature-gates=X=true'],
  'two addresses': ['--metrics-address=:0'],
  'a missing kubeconfig, before the check for two HTTP addresses': ['--metrics-address=:0', '--kubeconfig=/none'],
  'an empty prefix': ['--snapshot-name-prefix='],
  'an unknown log format': ['--logging-format=x'],
  'an unknown gate with --version': ['--feature-gates=X=true', '--version'],
  'a kubeconfig that does not exist': ['--kubeconfig=/none'],
  'leader election with --node-deployment, before the check of the kubeconfig': [
    '--node-deployment',
    '--leader-election',
    '--kubeconfig=/none',
  ],
  'an empty name prefix for group snapshots': ['--groupsnapshot-name-prefix='],
  'a missing NODE_NAME': ['--node-deployment'],
  'leader election with --node-deployment': ['--node-deployment', '--leader-election'],
}

starts('the snapshotter ends at its start because of an unknown flag', {
  starts: [{ args: ['--extra-create-metadat'], driver: { controller: SNAPSHOTS } }],
  differs: ['command-line-help'],
})

for (const [label, args] of Object.entries(REFUSALS)) {
  starts(`the snapshotter ends at its start because of ${label}`, {
    starts: [{ args, driver: { controller: SNAPSHOTS } }],
  })
}

test('the snapshotter ends at its start because of an HTTP address that cannot be opened', WITHOUT_API, async (t) => {
  const driver = await t.driver({ controller: SNAPSHOTS })
  const sidecar = await t.sidecar({ app, driver, args: ['--http-endpoint=192.0.2.1:1', '--metrics-path=/m'] })
  equal((await sidecar.end()).code, 255)
  const text = 'Failed to start HTTP server at specified address ("192.0.2.1:1") and metrics path ("/m")'
  const [line = ''] = sidecar.linesWith(text)
  ok(line.endsWith(': listen tcp 192.0.2.1:1: bind: cannot assign requested address'), sidecar.stderr)
})

test('an invalid --snapshot-name-uuid-length ends the process', { target: 'emulator', only: 'ours' }, async (t) => {
  const driver = await t.driver({ controller: SNAPSHOTS })
  const sidecar = await t.sidecar({ app, driver, args: ['--snapshot-name-uuid-length=33'] })
  equal((await sidecar.end()).code, 1)
  ok(sidecar.stderr.includes('Snapshot name uuid length must be between -1 and 32'), sidecar.stderr)
})

const DRIVERS: Readonly<Record<string, Answers>> = {
  'refuses GetPluginInfo': { GetPluginInfo: [INTERNAL] },
  'has no name': { GetPluginInfo: [{ reply: { name: '', vendorVersion: '1', manifest: {} } }] },
  'refuses Probe': { Probe: [INTERNAL] },
  'refuses ControllerGetCapabilities': { ControllerGetCapabilities: [INTERNAL] },
}

for (const [label, answers] of Object.entries(DRIVERS)) {
  starts(`the snapshotter ends at its start if the driver ${label}`, {
    starts: [{ driver: { controller: SNAPSHOTS }, answers }],
  })
}

starts('the snapshotter ends at its start if the driver does not support snapshots', { starts: [{ driver: {} }] })

test('--version prints to standard output, and --help prints the flags to standard error', WITHOUT_API, async (t) => {
  const version = await t.exec(['--version'])
  equal([version.code, version.stderr], [0, ''])
  match(version.stdout, /^\S+ \S+\n$/)
  const help = await t.exec(['--help'])
  equal([help.code, help.stdout], [0, ''])
  for (const flag of ['groupsnapshot-name-prefix', 'node-deployment', 'snapshot-name-uuid-length', 'worker-threads']) {
    match(help.stderr, new RegExp(`^ {2}-${flag}\\b`, 'm'))
  }
})

const row = snapshotterRows('start', import.meta.filename)

row('the snapshotter processes VolumeGroupSnapshotContents even if GroupControllerGetCapabilities fails', {
  setup: { answers: { GroupControllerGetCapabilities: [INTERNAL] } },
  logs: ['error determining if driver supports create/delete group snapshot operations: rpc error: code = Internal'],
  steps: [group()],
})
row('the snapshotter processes VolumeGroupSnapshotContents even if the driver lacks group snapshots', {
  setup: { answers: { GroupControllerGetCapabilities: [{ reply: { capabilities: [] } }] } },
  logs: [' does not support GroupControllerCreateVolumeGroupSnapshot when'],
  steps: [group()],
})

test('with CSIVolumeGroupSnapshot=false, the snapshotter sends no request for group snapshots', async (t) => {
  const args = ['--feature-gates=CSIVolumeGroupSnapshot=false', '--groupsnapshot-name-prefix=']
  const { snapshotter } = await scene(t, { args, watches: ['volumesnapshotcontents', 'volumesnapshotclasses'] })
  await snapshotTaken(t)
  const warning = 'Warning: setting GA feature gate. It will be removed in a future release.'
  equal(snapshotter.linesWith(warning).length, 1)
  const aboutGroups = snapshotter.gate.requests.filter(({ path }) => path.includes('group'))
  equal(aboutGroups, [])
})

test('the snapshotter asks once whether each group snapshot kind exists, and lists all contents and classes', async (t) => {
  const { snapshotter } = await scene(t)
  await snapshotTaken(t)
  const { requests } = snapshotter.gate
  const probes = requests.filter(({ query }) => query['limit'] === '1').map(({ resource }) => resource)
  equal(probes, ['volumegroupsnapshotcontents', 'volumegroupsnapshotclasses'])
  const lists = new Set(
    requests.filter(({ method, name }) => method === 'GET' && !name).map(({ resource }) => resource),
  )
  lists.delete('')
  equal([...lists].sort(), [
    'volumegroupsnapshotclasses',
    'volumegroupsnapshotcontents',
    'volumesnapshotclasses',
    'volumesnapshotcontents',
  ])
})

test('the snapshotter calls no driver method for snapshots with --worker-threads=0', async (t) => {
  const { driver } = await scene(t, { args: ['--worker-threads=0'] })
  await createClass(t)
  const name = await createContent(t)
  await t.received(VOLUME_SNAPSHOT_CONTENTS, await t.api.get(VOLUME_SNAPSHOT_CONTENTS, { name }))
  equal(snapshotCalls(driver), [])
})

test('a standby snapshotter is healthy and reports leader_election_master_status 0', async (t) => {
  const { driver } = await scene(t, { args: ELECTION, hostname: t.name('a') })
  const standby = await t.sidecar({ app, driver, args: ELECTION, hostname: t.name('b') })
  await standby.line('ttempting to acquire leader lease')
  await eventually('three reads of the Lease', () => standby.gate.requestsOf('leases').length >= 3)
  if (!t.ours) equal(standby.gate.requests.filter(({ watch }) => watch).length, 0)
  equal((await standby.http('/healthz/leader-election')).text, 'ok')
  equal((await standby.metrics()).value('leader_election_master_status'), 0)
  const { spec } = await t.api.get(LEASES, { namespace: 'default', name: leaseName(app, t.driverName) })
  equal(spec?.holderIdentity, t.name('a'))
  const event = await eventually('the event of the Lease', async () =>
    (await t.api.list(EVENTS, 'default')).find(({ message }) => message === `${t.name('a')} became leader`),
  )
  equal(event.source?.component, `external-snapshotter-leader-${t.driverName}/${t.name('a')}`)
  await t.api.delete(LEASES, { namespace: 'default', name: leaseName(app, t.driverName) })
})

test('the snapshotter serves /metrics before the driver is ready', WITHOUT_API, async (t) => {
  const driver = await t.driver()
  driver.on('Probe', { reply: { ready: false } })
  const sidecar = await t.sidecar({ app, driver })
  await sidecar.line('CSI driver is not ready')
  equal((await sidecar.http('/metrics')).code, 200)
})

test('the metrics of the snapshotter have separate work queues for snapshot contents and group contents', async (t) => {
  const { snapshotter } = await scene(t)
  const { text } = await snapshotter.metrics()
  match(text, /workqueue_depth\{name="csi-snapshotter-content"\} \d/)
  match(text, /workqueue_depth\{name="csi-snapshotter-groupsnapshotcontent"\} \d/)
  const probe = 'grpc_status_code="OK",method_name="/csi.v1.Identity/Probe"'
  match(text, new RegExp(`csi_sidecar_operations_seconds_count\\{driver_name="${t.driverName}",${probe}\\} 1\n`))
})

test('the snapshotter waits until the API server serves missing CRDs, and logs one line', {
  only: 'ours',
}, async (t) => {
  await createClass(t)
  await createContent(t)
  const snapshotter = await t.sidecar({ app, driver: await snapshotDriver(t) })
  const isOfSnapshots = ({ path }: { path: string }): boolean => path.startsWith('/apis/snapshot.storage.k8s.io/')
  const answer = refusal(404, 'NotFound', 'no')
  const absences = ['GET ', 'GET volumesnapshotcontents', 'GET volumesnapshotclasses'] as const
  const injected = absences.map((request) => snapshotter.gate.inject(request, answer, { where: isOfSnapshots }))
  const waiting = 'Waiting for a kind that the API server does not serve'
  await snapshotter.line(waiting)
  await eventually('repeated questions', () => injected.some(({ count }) => count >= 3))
  const { code, text } = await snapshotter.http('/readyz')
  equal(code, 503)
  match(text, /the API server does not serve volumesnapshot/)
  equal((await snapshotter.http('/livez')).code, 200)
  for (const injection of injected) injection.end()
  await ready(t)
  equal((await snapshotter.http('/readyz')).code, 200)
  equal(snapshotter.linesWith(waiting).length, 1)
})

test('the snapshotter creates snapshots if the API server forbids VolumeGroupSnapshotContents', async (t) => {
  const snapshotter = await t.sidecar({ app, driver: await snapshotDriver(t) })
  snapshotter.gate.inject('GET volumegroupsnapshotcontents', refusal(403, 'Forbidden', 'no'))
  await t.watching(snapshotter, 'volumesnapshotcontents')
  await snapshotter.line(
    'VolumeGroupSnapshot CRDs were not found; disabling the VolumeGroupSnapshot feature for this run',
  )
  await snapshotTaken(t)
})

test('the snapshotter creates group snapshots although the API server fails while the snapshotter starts', {
  only: 'ours',
}, async (t) => {
  await createGroupClass(t)
  const gate = await t.gate()
  const injection = gate.inject('GET volumegroupsnapshotcontents', refusal(500, 'InternalError', 'no'))
  const snapshotter = await t.sidecar({ app, gate, driver: await snapshotDriver(t) })
  await t.watching(snapshotter, 'volumesnapshotcontents')
  await snapshotTaken(t)
  injection.end()
  await groupReady(t, await createGroup(t))
})
