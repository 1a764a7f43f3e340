import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { EVENTS, LEASES } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import type { Answer, Driver } from '../../harness/driver/driver.ts'
import { leaseName } from '../../harness/subject.ts'
import { testsOf, WITHOUT_API } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import {
  createClass,
  createContent,
  createGroup,
  createGroupClass,
  groupReady,
  installCrds,
  ready,
  SNAPSHOTS,
  scene,
  snapshot,
  snapshotCalls,
} from './scene.ts'

const test = testsOf('snapshotter', 'start')
const app = 'snapshotter'
const INTERNAL = { code: 13, message: 'no' }

const NOT_FOUND = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 404, reason: 'NotFound', message: 'no' }

/** Starts the sidecar with a healthy driver and these arguments, and waits until it ends. */
async function ended(
  t: TestContext,
  args: readonly string[],
  {
    prepare = () => undefined,
    controller = SNAPSHOTS,
    env,
  }: { prepare?: (driver: Driver) => void; controller?: typeof SNAPSHOTS; env?: NodeJS.ProcessEnv } = {},
): Promise<{ readonly code: number | null; readonly text: string }> {
  const driver = await t.driver({ controller })
  prepare(driver)
  const sidecar = await t.sidecar({ app, driver, args, ...(env && { env }) })
  const { code } = await sidecar.end()
  return { code, text: sidecar.stderr }
}

const refusals: readonly (readonly [what: string, args: readonly string[], code: number, line: string])[] = [
  ['an unknown flag', ['--extra-create-metadat'], 2, 'flag provided but not defined: -extra-create-metadat'],
  [
    'an unknown gate',
    ['--feature-gates=X=true'],
    255,
    'Error while parsing feature gates: unrecognized feature gate: X',
  ],
  ['both addresses', ['--metrics-address=:0'], 1, 'only one of `--metrics-address` and `--http-endpoint` can be set.'],
  [
    'a kubeconfig that does not exist before both addresses',
    ['--metrics-address=:0', '--kubeconfig=/none'],
    1,
    'stat /none: no such file or directory',
  ],
  ['an empty prefix', ['--snapshot-name-prefix='], 1, 'Snapshot name prefix cannot be of length 0'],
  ['an unknown log format', ['--logging-format=x'], 1, 'LoggingConfiguration is invalid'],
  ['an unknown gate before --version', ['--feature-gates=X=true', '--version'], 255, 'unrecognized feature gate: X'],
  ['a kubeconfig that does not exist', ['--kubeconfig=/none'], 1, 'stat /none: no such file or directory'],
  [
    'an election on each node before a kubeconfig that does not exist',
    ['--node-deployment', '--leader-election', '--kubeconfig=/none'],
    1,
    'Leader election cannot happen when node-deployment is set to true',
  ],
  [
    'an address that cannot be opened',
    ['--http-endpoint=192.0.2.1:1', '--metrics-path=/m'],
    255,
    'Failed to start HTTP server at specified address ("192.0.2.1:1") and metrics path ("/m"): listen tcp 192.0.2.1:1: bind: cannot assign requested address',
  ],
  [
    'a prefix of groups that is empty',
    ['--groupsnapshot-name-prefix='],
    1,
    'group snapshot name prefix cannot be of length 0',
  ],
  [
    'an election on each node',
    ['--node-deployment', '--leader-election'],
    1,
    'Leader election cannot happen when node-deployment is set to true',
  ],
]

for (const [what, args, code, line] of refusals) {
  test(`the start ends because of ${what}`, { target: 'emulator' }, async (t) => {
    const { code: given, text } = await ended(t, args)
    equal(given, code)
    ok(text.includes(line), text)
  })
}

test('the start ends if NODE_NAME is missing', { target: 'emulator' }, async (t) => {
  const { NODE_NAME: _, ...env } = process.env
  const { code, text } = await ended(t, ['--node-deployment'], { env: { ...env, NODE_NAME: '' } })
  equal(code, 255)
  ok(text.includes('The NODE_NAME environment variable must be set when using --enable-node-deployment.'), text)
})

test('the start ends if --snapshot-name-uuid-length is impossible', { target: 'emulator', only: 'ours' }, async (t) => {
  const { code, text } = await ended(t, ['--snapshot-name-uuid-length=33'])
  equal(code, 1)
  ok(text.includes('Snapshot name uuid length must be between -1 and 32'), text)
})

test('the start ends if the driver does not support snapshots', WITHOUT_API, async (t) => {
  const { code, text } = await ended(t, [], { controller: [] })
  equal(code, 1)
  ok(text.includes(`CSI driver ${t.driverName} does not support ControllerCreateSnapshot`), text)
})

const answers: readonly (readonly [method: string, answer: Answer, line: string])[] = [
  ['GetPluginInfo', INTERNAL, 'error getting CSI driver name: rpc error: code = Internal desc = no'],
  [
    'Probe',
    INTERNAL,
    'error waiting for CSI driver to be ready: CSI driver probe failed: rpc error: code = Internal desc = no',
  ],
  [
    'ControllerGetCapabilities',
    INTERNAL,
    'error determining if driver supports create/delete snapshot operations: rpc error: code = Internal desc = no',
  ],
]

for (const [method, answer, line] of answers) {
  test(`the start ends if the driver refuses ${method}`, WITHOUT_API, async (t) => {
    const { code, text } = await ended(t, [], { prepare: (driver) => driver.on(method, answer) })
    equal(code, 1)
    ok(text.includes(line), text)
  })
}

test('prints its version to standard output, and its flags to standard error', {
  ...WITHOUT_API,
  notOne: true,
}, async (t) => {
  const version = await t.exec(['--version'])
  equal([version.code, version.stderr], [0, ''])
  match(version.stdout, /^\S+ \S+\n$/)
  const help = await t.exec(['--help'])
  equal([help.code, help.stdout], [0, ''])
  const flags = [...help.stderr.matchAll(/^ {2}-([a-z-]+)/gm)].map(([, name]) => name)
  equal(
    ['groupsnapshot-name-prefix', 'node-deployment', 'snapshot-name-uuid-length', 'worker-threads'].filter(
      (name) => !flags.includes(name),
    ),
    [],
  )
})

const groups: readonly (readonly [what: string, answer: Answer, line: (driver: string) => string])[] = [
  [
    'refuses to report its',
    INTERNAL,
    () => 'error determining if driver supports create/delete group snapshot operations: rpc error: code = Internal',
  ],
  [
    'has no',
    { reply: { capabilities: [] } },
    (driver) => `CSI driver ${driver} does not support GroupControllerCreateVolumeGroupSnapshot when`,
  ],
]

for (const [what, answer, line] of groups) {
  test(`works on group contents of a driver that ${what} ability of groups`, async (t) => {
    await installCrds(t)
    await createGroupClass(t)
    const { snapshotter } = await scene(t, {
      prepare: (driver) => driver.on('GroupControllerGetCapabilities', answer),
    })
    ok(snapshotter.linesWith(line(t.driverName)).length > 0)
    await createGroup(t)
    await groupReady(t)
  })
}

test('sends no requests about groups without the feature gate, and accepts an empty prefix for groups', async (t) => {
  const args = ['--feature-gates=CSIVolumeGroupSnapshot=false', '--groupsnapshot-name-prefix=']
  const { snapshotter } = await scene(t, { args, watches: ['volumesnapshotcontents', 'volumesnapshotclasses'] })
  await createClass(t)
  await createContent(t)
  await ready(t)
  const warning = 'Warning: setting GA feature gate. It will be removed in a future release.'
  equal(snapshotter.linesWith(warning).length, 1)
  equal(
    snapshotter.gate.requests.filter(({ path }) => path.includes('group')),
    [],
  )
})

test('reads contents and classes, and asks once for one group and one group class', async (t) => {
  const { snapshotter } = await scene(t)
  await createClass(t)
  await createContent(t)
  await ready(t)
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

test('does no work with --worker-threads=0', async (t) => {
  const { driver } = await scene(t, { args: ['--worker-threads=0'] })
  await createClass(t)
  await createContent(t)
  await pause(1_000)
  equal(snapshotCalls(driver), [])
})

test('stays a standby while another replica leads', async (t) => {
  const args = ['--leader-election', '--leader-election-namespace=default']
  const { driver } = await scene(t, { args, hostname: t.name('a') })
  const standby = await t.sidecar({ app, driver, args, hostname: t.name('b') })
  await standby.line('ttempting to acquire leader lease')
  await pause(1_000)
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

test('the start ends before the first Probe if the driver has no name', WITHOUT_API, async (t) => {
  const driver = await t.driver({ controller: SNAPSHOTS })
  driver.on('GetPluginInfo', { reply: { name: '', vendorVersion: '1', manifest: {} } })
  const sidecar = await t.sidecar({ app, driver })
  equal((await sidecar.end()).code, 1)
  ok(sidecar.stderr.includes('error getting CSI driver name: driver name is empty'), sidecar.stderr)
  equal(
    driver.calls.map(({ method }) => method),
    ['GetPluginInfo'],
  )
})

test('logs a warning for each removed flag, and works', { only: 'ours' }, async (t) => {
  const args = [
    '--snapshotter=x',
    '--connection-timeout=15s',
    '--leader-election-type=leases',
    '--enable-volume-group-snapshots=true',
  ]
  const { snapshotter } = await scene(t, { args })
  equal(snapshotter.linesWith('Warning: this flag was removed, and has no effect').length, 4)
  await createClass(t)
  await createContent(t)
  await ready(t)
})

test('serves metrics before the driver is ready', WITHOUT_API, async (t) => {
  const driver = await t.driver({ controller: SNAPSHOTS })
  driver.on('Probe', { reply: { ready: false } })
  const sidecar = await t.sidecar({ app, driver })
  await sidecar.line('CSI driver is not ready')
  equal((await sidecar.http('/metrics')).code, 200)
})

test('serves metrics with the names of both queues', async (t) => {
  const { snapshotter } = await scene(t)
  const { text } = await snapshotter.metrics()
  match(text, /workqueue_depth\{name="csi-snapshotter-content"\} \d/)
  match(text, /workqueue_depth\{name="csi-snapshotter-groupsnapshotcontent"\} \d/)
  const probe = 'grpc_status_code="OK",method_name="/csi.v1.Identity/Probe"'
  match(text, new RegExp(`csi_sidecar_operations_seconds_count\\{driver_name="${t.driverName}",${probe}\\} 1\n`))
})

test('waits for missing CRDs with one log line, and continues when the API server serves them', {
  only: 'ours',
}, async (t) => {
  await installCrds(t)
  await createClass(t)
  await createContent(t)
  const driver = await t.driver({ controller: SNAPSHOTS })
  driver.on('CreateSnapshot', snapshot())
  const snapshotter = await t.sidecar({ app, driver })
  const isOfSnapshots = ({ path }: { path: string }): boolean => path.startsWith('/apis/snapshot.storage.k8s.io/')
  const answer = { kind: 'answer', code: 404, body: NOT_FOUND } as const
  const absences = ['GET ', 'GET volumesnapshotcontents', 'GET volumesnapshotclasses'] as const
  const injected = absences.map((what) => snapshotter.gate.inject(what, answer, { where: isOfSnapshots }))
  const waiting = 'Waiting for a kind that the API server does not serve'
  await snapshotter.line(waiting)
  await pause(2_000)
  const { code, text } = await snapshotter.http('/readyz')
  equal(code, 503)
  match(text, /the API server does not serve volumesnapshot/)
  equal((await snapshotter.http('/livez')).code, 200)
  for (const injection of injected) injection.end()
  await ready(t)
  equal((await snapshotter.http('/readyz')).code, 200)
  equal(snapshotter.linesWith(waiting).length, 1)
})

test('works without group snapshots if they are forbidden', async (t) => {
  await installCrds(t)
  const driver = await t.driver({ controller: SNAPSHOTS })
  driver.on('CreateSnapshot', snapshot())
  const snapshotter = await t.sidecar({ app, driver })
  snapshotter.gate.inject('GET volumegroupsnapshotcontents', {
    kind: 'answer',
    code: 403,
    body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 403, reason: 'Forbidden', message: 'no' },
  })
  await t.watching(snapshotter, 'volumesnapshotcontents')
  await snapshotter.line(
    'VolumeGroupSnapshot CRDs were not found; disabling the VolumeGroupSnapshot feature for this run',
  )
  await createClass(t)
  await createContent(t)
  await ready(t)
})

test('leads by the Lease of the Go original, and releases the Lease within seconds of SIGTERM', {
  only: 'ours',
}, async (t) => {
  const args = ['--leader-election', '--leader-election-namespace=default']
  const { snapshotter, driver } = await scene(t, { args })
  await createClass(t)
  await createContent(t)
  await ready(t)
  equal(snapshotCalls(driver).length, 1)
  const name = leaseName(app, t.driverName)
  const holder = async (): Promise<string | undefined> =>
    (await t.api.find(LEASES, { namespace: 'default', name }))?.spec?.holderIdentity ?? undefined
  ok(await holder())
  equal((await snapshotter.endBy('SIGTERM', 5_000)).code, 0)
  equal((await holder()) || '', '')
  await t.api.delete(LEASES, { namespace: 'default', name })
})

test('ends within seconds of SIGINT, even as the leader', { only: 'ours' }, async (t) => {
  const args = ['--leader-election', '--leader-election-namespace=default']
  const { snapshotter } = await scene(t, { args })
  equal((await snapshotter.endBy('SIGINT', 5_000)).code, 0)
  await t.api.delete(LEASES, { namespace: 'default', name: leaseName(app, t.driverName) })
})

test('never needs a permission beyond its role, and updates no object', { only: 'ours' }, async (t) => {
  const { snapshotter } = await scene(t)
  await createClass(t)
  await createContent(t)
  await ready(t)
  await eventually('all requests answered', () =>
    snapshotter.gate.requests.every(({ code, watch }) => watch || code !== 0),
  )
  equal(
    snapshotter.gate.requests.filter(({ code }) => code === 403).map(({ path }) => path),
    [],
  )
  equal(
    snapshotter.gate.requests.filter(({ method }) => method === 'PUT'),
    [],
  )
})
