import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import type { TestContext } from '../../harness/context.ts'
import { listen } from '../../harness/listen.ts'
import { assertContains, lastLogLine } from '../../harness/process/sidecar.ts'
import { sharingCode, testsOf } from '../../harness/test.ts'
import { type Answers, failure } from '../../rows/actions.ts'
import { startsOf } from '../../rows/starts.ts'

const BROKEN = failure(13, 'broken')
const NAMELESS = { reply: { name: '', vendorVersion: '', manifest: {} } }

/** Driver answers that end a sidecar at its start. */
const FAILURES: Readonly<Record<string, Answers>> = {
  'Probe fails with Internal': { Probe: [BROKEN] },
  'GetPluginInfo fails': { GetPluginInfo: [BROKEN] },
  'GetPluginInfo returns no name': { GetPluginInfo: [NAMELESS] },
  'GetPluginCapabilities fails': { GetPluginCapabilities: [BROKEN] },
  'ControllerGetCapabilities fails': { ControllerGetCapabilities: [BROKEN] },
}

for (const app of sharingCode('resizer')) {
  const test = testsOf(app, 'start-up')
  const starts = startsOf(app, 'start-up', import.meta.filename)
  const config = (t: TestContext, server = 'https://127.0.0.1:1'): string => `--kubeconfig=${t.kubeconfig(server, 'x')}`

  test('a sidecar without a driver logs a line every 10 s, and exits after 30 s', { long: true }, async (t) => {
    const address = join(t.folder, 'no.sock')
    const last = t.ours ? ' lastError="connect: no such file or directory"' : ''
    const began = Date.now()
    const outcome = await t.exec([config(t, t.cluster.url), `--csi-address=${address}`], { within: 60_000 })
    const seconds = (Date.now() - began) / 1000
    ok(seconds > 29 && seconds < 40, `ended after ${seconds} s`)
    const expected =
      app === 'attacher'
        ? `E "Failed to connect to the CSI driver" err="context deadline exceeded" csiAddress="${address}"${last}`
        : `E "Failed to create CSI client" err="failed to connect to CSI driver: context deadline exceeded"${last}`
    equal([outcome.code, lastLogLine(outcome)], [1, expected])
    const still = outcome.lines.filter((line) => line.includes('"Still connecting"'))
    ok(still.length >= 2 && still.length <= 3, `${still}`)
    for (const line of still) ok(/^[WI]/.test(line) && line.endsWith(last), line)
  })

  test('a waiting sidecar connects within 5 s after its driver starts', async (t) => {
    const driver = t.idleDriver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
    const sidecar = await t.sidecar({ driver })
    await new Promise((resolve) => setImmediate(resolve))
    await sidecar.line('"Version"')
    await driver.start()
    await sidecar.line('"Probing CSI driver for readiness"', { within: 5000 })
  })

  test('a signal ends a sidecar that waits for its driver', async (t) => {
    const driver = t.idleDriver()
    const ends = async (signal: 'SIGTERM' | 'SIGINT', number: number): Promise<void> => {
      const sidecar = await t.sidecar({ driver, args: ['--feature-gates=ReleaseLeaderElectionOnExit=false'] })
      await sidecar.line('"Still connecting"', { within: 15_000 })
      const exit = await sidecar.endBy(signal)
      ok(exit.signal === signal || exit.code === number, JSON.stringify(exit))
    }
    await Promise.all([ends('SIGTERM', 143), ends('SIGINT', 130)])
    if (!t.ours) return
    const sidecar = await t.sidecar({ driver, args: ['--feature-gates=ReleaseLeaderElectionOnExit=true'] })
    await sidecar.line('"Version"')
    equal((await sidecar.endBy('SIGTERM')).code, 0)
  })

  test('--csi-address accepts unix:// in front of the path', async (t) => {
    const driver = await t.fullDriver()
    const sidecar = await t.sidecar({ args: [`--csi-address=unix://${driver.socket}`] })
    await t.watching(sidecar, 'persistentvolumes')
  })

  test('the sidecar repeats Probe each second until ready is true or absent', async (t) => {
    const driver = await t.fullDriver()
    driver.on('Probe', (_, nth) => ({ reply: nth < 2 ? { ready: false } : {} }))
    const sidecar = await t.running({ driver })
    const [first, second, third] = driver.callsOf('Probe')
    const gap = (second?.start ?? 0) - (first?.end ?? 0)
    ok(gap > 900 && gap < 5000, `asked again after ${gap} ms`)
    ok((third?.start ?? 0) > 0)
    equal(sidecar.linesWith('"CSI driver is not ready"').length, 2)
  })

  test('the sidecar repeats Probe after a time-out', async (t) => {
    const driver = await t.fullDriver()
    driver.on('Probe', (_, nth) => (nth === 0 ? 'hang' : { reply: { ready: true } }))
    const sidecar = await t.running({ driver, args: ['--timeout=1s'] })
    equal(sidecar.linesWith('"CSI driver probe timed out"').length, 1)
    const [first] = driver.callsOf('Probe')
    ok((first?.timeoutMs ?? 0) > 0 && (first?.timeoutMs ?? 0) <= 1050, `${first?.timeoutMs}`)
  })

  for (const [failure, answers] of Object.entries(FAILURES)) {
    starts(`the sidecar exits with 1 if ${failure}`, { starts: [{ driver: {}, answers }] })
  }

  test('the sidecar ignores capabilities with unknown numbers', async (t) => {
    const driver = await t.fullDriver()
    const numbers = [ControllerRpc.PUBLISH_UNPUBLISH_VOLUME, ControllerRpc.EXPAND_VOLUME, 99, 1000]
    const capabilities = numbers.map((type) => ({ type: { $case: 'rpc', value: { type } } }))
    driver.on('ControllerGetCapabilities', { reply: { capabilities } })
    await t.running({ driver })
  })

  test('an HTTP address in use ends the sidecar with exit code 1', async (t) => {
    const driver = await t.fullDriver()
    using other = await listen(createServer())
    const address = `127.0.0.1:${other.port}`
    const sidecar = await t.sidecar({ driver, args: [`--http-endpoint=${address}`] })
    equal((await sidecar.end()).code, 1)
    const [where, context] =
      app === 'attacher' ? [' at specified address and metrics path', ` driver="${t.driverName}"`] : ['', '']
    const line = sidecar.linesWith(`"Failed to start HTTP server${where}"`)[0] ?? sidecar.stderr
    const pairs = `${context} address="${address}" metricsPath="/metrics"`
    assertContains(line, `err="listen tcp ${address}: bind: address already in use"${pairs}`)
  })
}

const attacher = testsOf('attacher', 'start-up')

attacher('GetPluginInfo and the capability calls have a time-out of one second', async (t) => {
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  await t.running({ driver })
  const methods = driver.calls.map(({ method }) => method)
  equal(methods, ['Probe', 'GetPluginInfo', 'GetPluginCapabilities', 'ControllerGetCapabilities'])
  const limits = driver.calls.map(({ timeoutMs }) => timeoutMs)
  const [probe = 0, info = 0, plugin = 0, controller = 0] = limits
  ok(probe > 10_000 && probe <= 15_050, `${limits}`)
  for (const limit of [info, plugin, controller]) ok(limit > 0 && limit <= 1050, `${limits}`)
})

attacher('a driver without CONTROLLER_SERVICE gets no ControllerGetCapabilities call', async (t) => {
  const driver = await t.driver({ controllerService: false })
  await t.running({ driver }, 'volumeattachments')
  equal(driver.callsOf('ControllerGetCapabilities'), [])
})

attacher('GetPluginCapabilities and ControllerGetCapabilities share a time-out of one second', async (t) => {
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  driver.on('GetPluginCapabilities', {
    reply: { capabilities: [{ type: { $case: 'service', value: { type: 1 } } }] },
    after: 700,
  })
  driver.on('ControllerGetCapabilities', { reply: { capabilities: [] }, after: 700 })
  const sidecar = await t.sidecar({ driver })
  equal((await sidecar.end()).code, 1)
  const line = sidecar.lines.at(-1) ?? ''
  // If the driver notices the deadline before the sidecar does, the error has another message.
  match(
    line,
    /"Failed to controller capability check" err="rpc error: code = DeadlineExceeded desc = .*eadline exceeded"/,
  )
})

const resizer = testsOf('resizer', 'start-up')

const ends = startsOf('resizer', 'start-up', import.meta.filename)

ends('the resizer exits with 1 if the driver lacks CONTROLLER_SERVICE', {
  starts: [{ driver: { controllerService: false } }],
})

ends('the resizer exits with 255 if the driver supports neither expansion nor modification', {
  starts: [
    {
      driver: { controller: ['PUBLISH_UNPUBLISH_VOLUME'] },
      logs: ['"Resize not supported"', '"Modify not supported"'],
    },
  ],
})

ends('the resizer exits with 1 if NodeGetCapabilities fails', {
  starts: [{ driver: { controller: ['MODIFY_VOLUME'] }, answers: { NodeGetCapabilities: [BROKEN] } }],
})

const EXPANDS = { reply: { capabilities: [{ type: { $case: 'rpc', value: { type: ControllerRpc.EXPAND_VOLUME } } }] } }

for (const [label, answers] of [
  ['access modes', [EXPANDS, BROKEN]],
  ['modifications', [EXPANDS, EXPANDS, BROKEN]],
] as const) {
  ends(`the resizer exits with 1 if the ControllerGetCapabilities call about ${label} fails`, {
    starts: [{ driver: {}, answers: { ControllerGetCapabilities: answers } }],
  })
}

resizer('--resize-timeout and --modify-timeout are the time-outs of the capability calls', async (t) => {
  const driver = await t.driver({ controller: ['EXPAND_VOLUME', 'MODIFY_VOLUME'] })
  await t.running({ driver, args: ['--resize-timeout=33s', '--modify-timeout=44s'] })
  const limits = driver.calls.map(({ method, timeoutMs }) => [method, Math.ceil(timeoutMs / 1000)])
  equal(limits.slice(0, 6), [
    ['Probe', 10],
    ['GetPluginInfo', 10],
    ['GetPluginCapabilities', 33],
    ['ControllerGetCapabilities', 33],
    ['ControllerGetCapabilities', 33],
    ['ControllerGetCapabilities', 44],
  ])
})

resizer('--timeout limits Probe and GetPluginInfo', async (t) => {
  const driver = await t.driver({ controller: ['EXPAND_VOLUME'] })
  await t.running({ driver, args: ['--timeout=33s'] })
  for (const { timeoutMs } of driver.callsOf('Probe', 'GetPluginInfo')) {
    ok(timeoutMs > 31_000 && timeoutMs <= 33_050, `${timeoutMs}`)
  }
})
