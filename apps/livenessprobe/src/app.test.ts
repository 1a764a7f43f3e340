import { systemClock } from '@csi-sidecars/base'
import { combine } from '@csi-sidecars/sidecar'
import { type Ended, runInProcess } from '@csi-sidecars/sidecar/testing'
import { startCluster } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { livenessprobe } from './app.ts'

const program = combine('csi-sidecars', { byDefault: [], onRequest: [livenessprobe] })

const run = (args: readonly string[], options: Parameters<typeof runInProcess>[2] = {}): Promise<Ended> =>
  runInProcess(program, ['--controllers=livenessprobe', ...args], options)

describe('flags', () => {
  it.each([
    ['--health-port=1', 'Only one of `--health-port` and `--http-endpoint` can be explicitly set'],
    ['--metrics-address=:1', 'Only one of `--metrics-address` and `--http-endpoint` can be explicitly set'],
  ])('the livenessprobe refuses %s together with --http-endpoint', async (flag, message) => {
    const { ending, log } = await run(['--http-endpoint=:2', flag])
    expect(ending).toEqual({ code: 1 })
    expect(log).toContain(message)
  })

  it.each(['--kubeconfig=x', '--leader-election', '--tls-cert-file=x', '--drain-timeout=1s'])(
    'the livenessprobe refuses the flag %s',
    async (flag) => {
      const { ending, log } = await run([flag])
      expect(ending).toEqual({ code: 2 })
      const name = flag.slice(2).split('=')[0]
      expect(log).toMatch(new RegExp(`^flag -?${name}|^flag provided but not defined: -${name}`))
    },
  )

  it('the livenessprobe refuses an address of the driver that is not a unix socket', async () => {
    const { ending, log } = await run(['--csi-address=dns:///x'])
    expect(ending).toEqual({ code: 1 })
    expect(log).toContain('"Failed to establish connection to CSI driver" err="')
  })
})

describe('start', () => {
  it('the livenessprobe reads the name of the driver once, listens, and ends after SIGTERM', async () => {
    await using cluster = await startCluster()
    const stop = new AbortController()
    const onLog = (text: string): void => {
      if (text.includes('"ServeMux listening"')) stop.abort()
    }
    const args = [`--csi-address=${cluster.driver.socket}`, '--health-port=0']
    const { ending, log } = await run(args, { signal: stop.signal, onLog })
    expect(ending).toEqual({ bySignal: 'SIGTERM' })
    expect(log).toMatch(/"Version" .* replaces="livenessprobe v2\.20\.0"/)
    expect(log).toMatch(/"CSI driver name" driver="csi\.example\.com"/)
    expect(cluster.driver.calls.map(({ method }) => method)).toEqual(['GetPluginInfo'])
  })

  it('the livenessprobe waits for the driver until it is stopped', async () => {
    const stop = new AbortController()
    systemClock.schedule(300, () => stop.abort())
    const { ending } = await run(['--csi-address=/nonexistent/csi.sock'], { signal: stop.signal })
    expect(ending).toEqual({ bySignal: 'SIGTERM' })
  })
})
