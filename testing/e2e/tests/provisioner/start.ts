import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { LEASES, PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import type { SidecarSetup, TestContext } from '../../harness/context.ts'
import type { FakeDriver } from '../../harness/driver/driver.ts'
import { testsOf, WITHOUT_API } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import type { Answers } from '../../rows/actions.ts'
import {
  calls,
  claimEvent,
  claimRef,
  createClaim,
  createClass,
  deleted,
  provision,
  provisionedVolume,
  released,
  scene,
  secretParameters,
} from '../../rows/provisioner/scene.ts'
import { startsOf } from '../../rows/starts.ts'
import { LONG_LEASE } from '../../rows/work.ts'

const test = testsOf('provisioner', 'start')
const START_LINE = 'Started provisioner controller'

/** Invalid arguments. The tests of libs/sidecar check more of them. */
const REFUSED = [
  '--nope=1',
  '-nope',
  '-=x',
  '--worker-threads=-1',
  '--volume-name-uuid-length=x',
  '--strict-topology=yes',
  '--kube-api-burst=a',
  '--logtostderr=true',
  '--version junk --nonsense',
]

const ACCEPTED = [
  '--version',
  'junk --version',
  '--version -- --nonsense',
  '--version=false --version',
  '--worker-threads=0 --version',
  '--worker-threads 7 --version',
  '--volume-name-prefix= --volume-name-uuid-length=33 --version',
  '--kube-api-qps=-1 --timeout=0 --version',
  '--feature-gates=WatchList=true,AllBeta=false,CrossNamespaceVolumeDataSource=true --version',
  '--metrics-address=:1 --http-endpoint=:2 --version',
  '--kubeconfig=/nonexistent --version',
]

const wordsOf = (line: string): string[] => line.split(' ')

/** Arguments that end the start before the driver is called. */
const ENDS = [
  '--logging-format=xml --feature-gates=X=true',
  '--feature-gates=X=true --version',
  '--node-deployment --version',
  '--metrics-address=:1 --http-endpoint=:2',
  '--kubeconfig=/nonexistent',
]

const starts = startsOf('provisioner', 'start', import.meta.filename)

starts('invalid arguments end the provisioner with the error, the usage and exit code 2', {
  starts: REFUSED.map((line) => ({ args: wordsOf(line) })),
  differs: ['command-line-help'],
})

test('valid arguments with --version print only the version and end with exit code 0', WITHOUT_API, async (t) => {
  for (const args of ACCEPTED) {
    const { code, stdout, binary } = await t.exec(wordsOf(args))
    equal({ args, code }, { args, code: 0 })
    match(stdout, new RegExp(`^${binary} v\\d+\\.\\d+\\.\\d+\\S*\n$`))
  }
})

test('--help of the provisioner lists all flags and the feature gates', WITHOUT_API, async (t) => {
  for (const help of ['-h', '--help']) {
    const { code, stdout, stderr, binary } = await t.exec([help])
    equal({ code, stdout }, { code: 0, stdout: '' })
    ok(stderr.startsWith(`Usage of ${binary}:\n`))
    const flags = [...stderr.matchAll(/^ +(?:-., )?--(\S+)/gm)].map(([, name]) => name)
    equal(flags, flags.toSorted())
    for (const flag of ['capacity-poll-interval', 'enable-pprof', 'master', 'strict-topology', 'worker-threads'])
      ok(flags.includes(flag), flag)
    match(stderr, /ReleaseLeaderElectionOnExit=true\|false \(/)
    match(stderr.replaceAll(/\n\s+\t?/g, ' '), /--retry-interval-max duration .*?\(default 5m0s\)/)
  }
})

starts('contradicting or unusable flags end the provisioner before it calls the driver', {
  starts: [...ENDS.map((line) => ({ args: wordsOf(line) })), {}],
})

starts('$KUBECONFIG of the provisioner takes precedence over --kubeconfig', {
  starts: [{ args: ['--kubeconfig=/one'], env: { KUBECONFIG: '/two' } }],
})

/** Starts the sidecar with a healthy driver, and waits until the sidecar ends. */
async function ended(
  t: TestContext,
  { prepare, driver: scriptedDriver, ...setup }: SidecarSetup & { prepare?: (driver: FakeDriver) => void },
): Promise<{ readonly code: number | null; readonly text: string; readonly driver: FakeDriver }> {
  const driver = scriptedDriver ?? (await t.driver({ controller: ['CREATE_DELETE_VOLUME'] }))
  prepare?.(driver)
  const sidecar = await t.sidecar({ driver, ...setup })
  const { code } = await sidecar.end()
  return { code, text: sidecar.stderr, driver }
}

const INTERNAL = { code: 13, message: 'no' } as const

/** Answers of the driver that end the start. */
const DRIVERS: readonly Answers[] = [
  { Probe: [INTERNAL] },
  { GetPluginInfo: [INTERNAL] },
  { GetPluginInfo: [{ reply: { name: '', vendorVersion: '1', manifest: {} } }] },
  { GetPluginCapabilities: [INTERNAL] },
  { ControllerGetCapabilities: [INTERNAL] },
  { ControllerGetCapabilities: ['hang'] },
]

const DRIVER = { controller: ['CREATE_DELETE_VOLUME'] } as const

starts('an error of one of the first driver calls ends the provisioner', {
  starts: DRIVERS.map((answers) => ({ args: ['--timeout=1s'], driver: DRIVER, answers })),
})

starts('a driver address that is not a path ends the provisioner', {
  starts: [{ args: ['--csi-address=tcp://localhost:1'], driver: DRIVER }],
})

test('an HTTP address in use ends the provisioner', WITHOUT_API, async (t) => {
  const { sidecar } = await scene(t)
  const { code, text } = await ended(t, { args: [`--http-endpoint=127.0.0.1:${sidecar.port}`] })
  equal(code, 255)
  const address = `("127.0.0.1:${sidecar.port}") and metrics path ("/metrics")`
  ok(text.includes(`Failed to start HTTP server at specified address ${address}: listen tcp`), text)
})

test('the provisioner makes its first driver calls in a fixed order, and repeats Probe until the driver is ready', async (t) => {
  const { driver, sidecar } = await scene(t, {
    controller: ['PUBLISH_UNPUBLISH_VOLUME'],
    args: ['--timeout=7s'],
    prepare: (each) => each.on('Probe', (_, nth) => ({ reply: { ready: nth > 0 && { value: true } } })),
  })
  const methods = ['Probe', 'Probe', 'GetPluginInfo', 'GetPluginCapabilities', 'ControllerGetCapabilities']
  const called = driver.calls.map(({ method }) => method)
  equal(called, methods)
  for (const { timeoutMs } of driver.calls) ok(timeoutMs > 4_000 && timeoutMs < 7_500, `${timeoutMs}`)
  const texts = [
    'Version',
    'CSI driver is not ready',
    `Detected CSI driver ${t.driverName}`,
    'CSI driver supports PUBLISH_UNPUBLISH_VOLUME, watching VolumeAttachments',
    START_LINE,
  ]
  await sidecar.line(START_LINE)
  for (const text of texts) equal([text, sidecar.linesWith(text).length > 0], [text, true])
  match(sidecar.linesWith(START_LINE)[0] ?? '', new RegExp(`component="${t.driverName}_.+_[0-9a-f-]{36}"`))
})

test('the provisioner calls ControllerGetCapabilities even if the driver lacks CONTROLLER_SERVICE', async (t) => {
  const { driver, sidecar } = await scene(t, { driver: await t.driver({ controllerService: false }) })
  equal(driver.callsOf('ControllerGetCapabilities').length, 1)
  const line = 'CSI driver does not support PUBLISH_UNPUBLISH_VOLUME, not watching VolumeAttachments'
  equal(sidecar.linesWith(line).length, 1)
  await sidecar.line(START_LINE)
  for (const plural of [
    'volumeattachments',
    'nodes',
    'csinodes',
    'secrets',
    'volumeattributesclasses',
    'volumesnapshots',
  ])
    equal([plural, sidecar.gate.requestsOf(plural).length], [plural, 0])
})

test('the metrics of the provisioner have the names and labels of the Go provisioner', async (t) => {
  const { driver, sidecar } = await scene(t)
  await provision(t)
  const beta = { 'volume.beta.kubernetes.io/storage-class': t.name('class') }
  await provision(t, { suffix: '-beta', annotations: beta, spec: { storageClassName: undefined } })
  driver.on('CreateVolume', { code: 13, message: 'no' })
  await createClaim(t, { suffix: '-failing' })
  await createClass(t, {}, 'late')
  await createClaim(t, {
    suffix: '-populated',
    spec: {
      dataSourceRef: { apiGroup: 'example.com', kind: 'Populator', name: 'x' },
      storageClassName: t.name('late'),
    },
  })
  await deleted(t, await released(t))
  const name = t.name('class')
  await eventually('the metrics', async () => {
    const { value } = await sidecar.metrics()
    const created = { class: name, source: '' }
    equal(value('controller_persistentvolumeclaim_provision_total', created), 1)
    equal(value('controller_persistentvolumeclaim_provision_duration_seconds_count', created), 1)
    ok((value('controller_persistentvolumeclaim_provision_failed_total', created) ?? 0) >= 1)
    const ignored = { class: t.name('late'), source: 'Populator' }
    ok((value('controller_persistentvolumeclaim_provision_failed_total', ignored) ?? 0) >= 1)
    // This metric does not read the beta annotation for the class.
    equal(value('controller_persistentvolumeclaim_provision_total', { class: '', source: '' }), 1)
    equal(value('controller_persistentvolume_delete_total', { class: '' }), 1)
    return true
  })
  const { families, samples, value } = await sidecar.metrics()
  const calls = { driver_name: t.driverName, method_name: '/csi.v1.Controller/CreateVolume', grpc_status_code: 'OK' }
  equal(value('csi_sidecar_operations_seconds_count', calls), 2)
  ok(samples.every(({ labels }) => labels['migrated'] === undefined))
  for (const queue of ['claims', 'volumes', 'unsavedpvs']) ok(value('workqueue_depth', { name: queue }) !== undefined)
  equal(families.get('controller_persistentvolumeclaim_provision_total')?.type, 'counter')
  equal(families.get('controller_persistentvolume_delete_duration_seconds')?.type, 'histogram')
  ok(value('process_start_time_seconds') !== undefined)
})

test('the events of a claim name the identity of the provisioner, or external-provisioner if it waits for a populator', async (t) => {
  await scene(t)
  await provision(t)
  const { source } = await claimEvent(t, 'Successfully provisioned volume')
  ok(source?.component?.startsWith(`${t.driverName}_`))
  const dataSourceRef = { apiGroup: 'example.com', kind: 'Populator', name: 'x' }
  await createClaim(t, { suffix: '-populated', spec: { dataSourceRef } })
  equal((await claimEvent(t, 'external populator', '-populated')).source?.component, 'external-provisioner')
})

test('the provisioner always serves /metrics, and serves profile pages only with --enable-pprof', async (t) => {
  const { sidecar, driver } = await scene(t, { args: ['--metrics-path=/m'] })
  const codes = await Promise.all(['/m', '/metrics', '/', '/healthz/leader-election', '/debug/pprof/'].map(codeOf))
  equal(codes, [200, 404, 404, 404, 404])
  const other = await t.sidecar({ driver, args: ['--enable-pprof'] })
  await eventually('the page', async () => (await other.http('/debug/pprof/')).code === 200)

  async function codeOf(path: string): Promise<number> {
    return (await sidecar.http(path)).code
  }
})

test('the Lease of the provisioner has the name of the driver, and a standby writes no object', async (t) => {
  const args = ['--leader-election', '--leader-election-namespace=default']
  const { driver, sidecar } = await scene(t, { args })
  const name = t.driverName.replaceAll('.', '-')
  const lease = await t.api.get(LEASES, { namespace: 'default', name })
  ok(lease.spec?.holderIdentity)
  const standby = await t.sidecar({ driver, args, hostname: 'standby' })
  await eventually('the page', async () => (await standby.http('/healthz/leader-election')).code === 200)
  equal((await sidecar.metrics()).value('leader_election_master_status'), 1)
  equal((await standby.metrics()).value('leader_election_master_status'), 0)
  if (!t.ours) equal(standby.gate.openWatches('persistentvolumeclaims'), 0)
  await provision(t)
  equal(standby.gate.writes(), [])
  await t.api.delete(LEASES, { namespace: 'default', name })
})

test('after SIGTERM the provisioner finishes a running CreateVolume, and the next leader continues at once', {
  only: 'ours',
}, async (t) => {
  const args = [...LONG_LEASE, '--leader-election-namespace=default']
  const { driver, sidecar } = await scene(t, { args })
  const { promise: after, resolve: answer } = Promise.withResolvers<void>()
  driver.on('CreateVolume', { reply: {}, after })
  const standby = await t.sidecar({ driver, args, hostname: 'standby' })
  await t.watching(standby, 'persistentvolumeclaims')
  const first = await createClaim(t)
  await calls(driver, 'CreateVolume')
  sidecar.signal('SIGTERM')
  await sidecar.line('Received SIGTERM or SIGINT signal')
  const second = await createClaim(t, { suffix: '-next' })
  answer()
  equal((await sidecar.end()).code, 0)
  await provisionedVolume(t, first, 0)
  await provisionedVolume(t, second)
  equal(driver.callsOf('CreateVolume').length, 2)
  await t.api.delete(LEASES, { namespace: 'default', name: t.driverName.replaceAll('.', '-') })
})

test('the permissions of the published role are sufficient for the provisioner', async (t) => {
  const { sidecar } = await scene(t, {
    controller: ['PUBLISH_UNPUBLISH_VOLUME', 'CREATE_DELETE_SNAPSHOT', 'CLONE_VOLUME'],
  })
  await provision(t)
  await deleted(t, await released(t))
  equal(sidecar.gate.forbidden(), [])
  const claimWrites = sidecar.gate.requests.filter(({ path, method }) => /claims\//.test(path) && method === 'PATCH')
  equal(claimWrites, [])
})

test('the provisioner keeps running although its role has no permissions', { target: 'real' }, async (t) => {
  const sidecar = await t.sidecar({ driver: await t.driver({ controller: ['CREATE_DELETE_VOLUME'] }), role: 'none' })
  await eventually(
    'three refusals',
    () => sidecar.gate.requestsOf('persistentvolumeclaims').filter(({ code }) => code === 403).length >= 3,
  )
  equal(sidecar.exit, undefined)
})

test('the provisioner makes no CreateVolume call with --worker-threads=0', async (t) => {
  const { driver } = await scene(t, { args: ['--worker-threads=0'] })
  await createClaim(t)
  await t.received(PERSISTENT_VOLUME_CLAIMS, await t.api.get(PERSISTENT_VOLUME_CLAIMS, claimRef(t)))
  equal(driver.callsOf('CreateVolume'), [])
})

test('values of Secrets never appear in the log lines about driver calls', async (t) => {
  const secret = await t.createSecret({ password: 'top-secret-value' })
  const { driver, sidecar } = await scene(t, { class: { parameters: secretParameters('provisioner-', secret) } })
  await provision(t)
  await calls(driver, 'CreateVolume')
  ok(!sidecar.stderr.includes('top-secret-value'))
  const call = sidecar.linesWith('/csi.v1.Controller/CreateVolume')[0] ?? ''
  ok(call.includes('***stripped***'), call)
})
