import { deepStrictEqual as equal, match, ok, rejects } from 'node:assert'
import { freePort } from '@csi-sidecars/emulator'
import type { RunningSidecar } from '../../harness/context.ts'
import { testsOf, WITHOUT_API } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { serving } from './http-scene.ts'

const NOT_FOUND = '404 page not found\n'

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'HTTP', WITHOUT_API)

  test('metrics in the text format, with its headers', async (t) => {
    const sidecar = await serving(t)
    const { code, headers, text } = await sidecar.http('/metrics', { 'accept-encoding': 'identity' })
    equal(code, 200)
    match(headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4; charset=utf-8/)
    const start = Number(headers.get('process-start-time-unix'))
    ok(Math.abs(start - Date.now() / 1000) < 60, `${start}`)
    equal(headers.get('content-encoding'), null)
    ok(text.startsWith('# HELP'))
  })

  test('gzip where it is accepted; a request for OpenMetrics gets text', async (t) => {
    const sidecar = await serving(t)
    const zipped = await sidecar.http('/metrics', { 'accept-encoding': 'gzip' })
    equal(zipped.headers.get('content-encoding'), 'gzip')
    const open = await sidecar.http('/metrics', { accept: 'application/openmetrics-text; version=1.0.0' })
    match(open.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
  })

  test('POST of the metrics is answered like GET', async (t) => {
    const sidecar = await serving(t)
    const answer = await fetch(`http://127.0.0.1:${sidecar.port}/metrics`, { method: 'POST', body: 'x' })
    equal(answer.status, 200)
    ok((await answer.text()).includes('process_open_fds'))
  })

  test('everything else is not found', async (t) => {
    const sidecar = await serving(t)
    const paths = ['/', '/healthz', '/metrics/', '/metrics/x', '/debug/pprof/', '/healthz/leader-election']
    for (const path of paths) {
      const { code, text, headers } = await sidecar.http(path)
      equal({ path, code, text }, { path, code: 404, text: NOT_FOUND })
      match(headers.get('content-type') ?? '', /^text\/plain; charset=utf-8/)
    }
  })

  test('--metrics-path moves the metrics', async (t) => {
    const sidecar = await serving(t, { args: ['--metrics-path=/other'] })
    equal((await sidecar.http('/metrics')).code, 404)
    equal((await sidecar.http('/other')).code, 200)
  })

  test('the health path exists with leader election, for leader and standby', async (t) => {
    const leader = await serving(t, { args: ['--leader-election'] })
    await t.watching(leader, 'persistentvolumes')
    equal(await text(leader), '200 ok')
    const standby = await t.sidecar({ driver: t.drivers[0], args: ['--leader-election'], hostname: 'standby' })
    await standby.line('Attempting to acquire leader lease...')
    equal(await text(standby), '200 ok')
    equal((await standby.metrics()).value('leader_election_master_status', { name: '' }), 0)
  })

  test('--metrics-address has metrics and no health path', async (t) => {
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

  test('the endpoint does not listen before the driver has answered', async (t) => {
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
