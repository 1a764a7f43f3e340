import { deepStrictEqual as equal, match, ok, rejects } from 'node:assert'
import { join } from 'node:path'
import { freePort } from '@csi-sidecars/emulator'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import { memoryOf } from '../../harness/process/memory.ts'
import { start, stop, textOf } from '../../harness/process/processes.ts'
import { connections, MAX_GROWTH_MIB, recovered } from '../../harness/process/scraper.ts'
import { sharingCode, testsOf, WITHOUT_API } from '../../harness/test.ts'
import { eventually, repeat } from '../../harness/waiting.ts'

/** Starts a sidecar and waits until its HTTP server answers. */
async function serving(t: TestContext, setup: SidecarSetup = {}): Promise<RunningSidecar> {
  const sidecar = await t.sidecar({ ...setup, driver: await t.fullDriver() })
  await eventually('the HTTP server', async () => (await sidecar.http('/nothing')).code === 404)
  return sidecar
}

const PIPELINED = 1800

function pipelined(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(PIPELINED)
}

const NOT_FOUND = '404 page not found\n'

for (const app of sharingCode('attacher')) {
  const test = testsOf(app, 'HTTP', WITHOUT_API)

  test('/metrics returns the Prometheus text format, compressed on request, and any other path returns 404', async (t) => {
    const sidecar = await serving(t)
    const { code, headers, text } = await sidecar.http('/metrics', { 'accept-encoding': 'identity' })
    equal(code, 200)
    match(headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4; charset=utf-8/)
    const start = Number(headers.get('process-start-time-unix'))
    ok(Math.abs(start - Date.now() / 1000) < 60, `${start}`)
    equal(headers.get('content-encoding'), null)
    ok(text.startsWith('# HELP'))
    const zipped = await sidecar.http('/metrics', { 'accept-encoding': 'gzip' })
    equal(zipped.headers.get('content-encoding'), 'gzip')
    const open = await sidecar.http('/metrics', { accept: 'application/openmetrics-text; version=1.0.0' })
    match(open.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
    const answer = await fetch(`http://127.0.0.1:${sidecar.port}/metrics`, { method: 'POST', body: 'x' })
    equal(answer.status, 200)
    ok((await answer.text()).includes('process_open_fds'))
    const paths = ['/', '/healthz', '/metrics/', '/metrics/x', '/debug/pprof/', '/healthz/leader-election']
    for (const path of paths) {
      const other = await sidecar.http(path)
      equal({ path, code: other.code, text: other.text }, { path, code: 404, text: NOT_FOUND })
      match(other.headers.get('content-type') ?? '', /^text\/plain; charset=utf-8/)
    }
  })

  test('--metrics-path sets the path of the metrics', async (t) => {
    const sidecar = await serving(t, { args: ['--metrics-path=/other'] })
    equal((await sidecar.http('/metrics')).code, 404)
    equal((await sidecar.http('/other')).code, 200)
  })

  test('with leader election, leader and standby serve /healthz/leader-election', async (t) => {
    const leader = await serving(t, { args: ['--leader-election'] })
    await t.watching(leader, 'persistentvolumes')
    equal(await text(leader), '200 ok')
    const standby = await t.sidecar({ driver: t.drivers[0], args: ['--leader-election'], hostname: 'standby' })
    await standby.line('Attempting to acquire leader lease...')
    equal(await text(standby), '200 ok')
    equal((await standby.metrics()).value('leader_election_master_status', { name: '' }), 0)
  })

  test('--metrics-address serves metrics but no health path', async (t) => {
    const { socket } = await t.fullDriver()
    const [gate, user, port] = [await t.gate(), t.cluster.user(app), await freePort()]
    const config = [`--csi-address=${socket}`, `--kubeconfig=${t.kubeconfig(gate.url, user.token)}`]
    const bareArgs = [...config, `--metrics-address=127.0.0.1:${port}`, '--leader-election']
    const sidecar = await t.sidecar({ bareArgs, user, gate })
    const at = `http://127.0.0.1:${port}`
    await eventually('metrics', async () => (await fetch(`${at}/metrics`)).ok)
    equal((await fetch(`${at}/healthz/leader-election`)).status, 404)
    equal(sidecar.exit, undefined)
  })

  test('the sidecar opens its HTTP endpoint only after the driver reports ready', async (t) => {
    const driver = await t.fullDriver()
    driver.on('Probe', (_, nth) => ({ reply: { ready: nth > 0 } }))
    const sidecar = await t.sidecar({ driver })
    await sidecar.line('"CSI driver is not ready"')
    await rejects(sidecar.http('/metrics'))
    await eventually('the HTTP server', async () => (await sidecar.http('/metrics')).code === 200)
  })
}

async function text(sidecar: RunningSidecar): Promise<string> {
  const answer = await sidecar.http('/healthz/leader-election')
  return `${answer.code} ${answer.text}`
}

const CROWD = join(import.meta.dirname, '../../harness/process/crowd.ts')
/** The limit for the memory that a sidecar keeps after misbehaving clients have gone. */
const KEPT_MIB = 24

/** The environment variable that our images set, to limit the memory of the allocator. */
const env = { MALLOC_ARENA_MAX: '1' }

const STUCK = '/debug/stuck'
const FLOODS = { '/metrics': 16, '/nothing': 64, [STUCK]: 16 }

/** The memory has stopped to grow if so many samples show no new maximum. */
const SETTLED_SAMPLES = 20

// The test runs with one sidecar only, because all sidecars have the same HTTP endpoint.
testsOf('attacher', 'HTTP abuse', WITHOUT_API)(
  `16 to 64 clients that send ${PIPELINED} requests each without reading cost little memory`,
  { alone: 'machine' },
  async (t) => {
    const floods = Object.entries(FLOODS).filter(([path]) => t.ours || path !== STUCK)
    await Promise.all(floods.map(([path, clients]) => flood(t, path, clients)))
  },
)

async function flood(t: TestContext, path: string, clients: number): Promise<void> {
  const sidecar = await serving(t, { env })
  await sidecar.metrics()
  const before = memoryOf(sidecar.pid).rss
  const sockets = connections(sidecar, clients, pipelined(path))
  let most = before
  let sinceMost = 0
  await repeat(100, () => {
    const { rss } = memoryOf(sidecar.pid)
    sinceMost = rss > most ? 0 : sinceMost + 1
    most = Math.max(most, rss)
    return sinceMost < SETTLED_SAMPLES
  })
  for (const socket of sockets) socket.destroy()
  await recovered(sidecar, t.ours ? '/livez' : '/metrics')
  ok(most - before < MAX_GROWTH_MIB, `${path}: from ${before} to ${most} MiB`)
  const givenBack = (): boolean => memoryOf(sidecar.pid).rss - before < KEPT_MIB
  await eventually(`memory given back after ${path}, from ${before} to ${most} MiB`, givenBack, { within: 60_000 })
}

for (const app of sharingCode('attacher')) {
  const test = testsOf(app, 'HTTP abuse', WITHOUT_API)

  test('probes are answered at once after 300 slow clients have disconnected', { alone: 'machine' }, async (t) => {
    const sidecar = await serving(t, { args: ['--leader-election'], env })
    const crowd = start(process.execPath, [CROWD, 'slow', `${sidecar.port}`, '300'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const printed = textOf(crowd.stdout)
    try {
      await eventually('a part of a request from each client', () => printed() === 'over\n')
    } finally {
      await stop(crowd)
    }
    const paths = t.ours ? ['/healthz/leader-election', '/livez', '/readyz'] : ['/healthz/leader-election']
    for (const path of paths) await recovered(sidecar, path)
  })

  test('the sidecar refuses a request without an HTTP version', async (t) => {
    const [socket = null] = connections(await serving(t, { env }), 1, 'GET /metrics\r\n\r\n')
    const answer = textOf(socket)
    socket?.resume()
    await eventually('the end of the connection', () => socket?.destroyed)
    match(answer(), /^HTTP\/1\.[01] 400 /)
  })
}
