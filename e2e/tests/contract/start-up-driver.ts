import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from '../../harness/context.ts'
import { assertContains, lastLogLine } from '../../harness/process/log-lines.ts'
import { testsOf } from '../../harness/test.ts'

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'start-up')
  const config = (t: TestContext, server = 'https://127.0.0.1:1'): string => `--kubeconfig=${t.kubeconfig(server, 'x')}`

  test('no driver: Still connecting every 10 s, exit 1 after 30 s', { long: 'emulator' }, async (t) => {
    const address = join(t.folder, 'no.sock')
    const last = t.ours ? ' lastError="connect: no such file or directory"' : ''
    const began = Date.now()
    const outcome = await t.exec([config(t, t.cluster.url), `--csi-address=${address}`], { within: 40_000 })
    const seconds = (Date.now() - began) / 1000
    ok(seconds > 29 && seconds < 33, `ended after ${seconds} s`)
    const expected =
      app === 'attacher'
        ? `E "Failed to connect to the CSI driver" err="context deadline exceeded" csiAddress="${address}"${last}`
        : `E "Failed to create CSI client" err="failed to connect to CSI driver: context deadline exceeded"${last}`
    equal([outcome.code, lastLogLine(outcome)], [1, expected])
    const still = outcome.lines.filter((line) => line.includes('"Still connecting"'))
    ok(
      still.length >= 2 && still.length <= 3 && still.every((line) => line.startsWith('W') || line.startsWith('I')),
      `${still}`,
    )
    ok(
      still.every((line) => line.endsWith(last)),
      `${still}`,
    )
  })

  test('a driver that comes later is found within seconds', async (t) => {
    const driver = t.idleDriver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
    const sidecar = await t.sidecar({ driver })
    await new Promise((resolve) => setImmediate(resolve))
    await sidecar.line('"Version"')
    await driver.start()
    await sidecar.line('"Probing CSI driver for readiness"', { within: 5000 })
  })

  test('a signal during the wait for the driver ends the process, by that signal when the gate is off', async (t) => {
    const driver = t.idleDriver()
    const ends = async (signal: 'SIGTERM' | 'SIGINT', number: number): Promise<void> => {
      const sidecar = await t.sidecar({ driver, args: ['--feature-gates=ReleaseLeaderElectionOnExit=false'] })
      await sidecar.line('"Still connecting"', { within: 15_000 })
      sidecar.signal(signal)
      const exit = await sidecar.end(3000)
      ok(exit.signal === signal || exit.code === number, JSON.stringify(exit))
    }
    await Promise.all([ends('SIGTERM', 143), ends('SIGINT', 130)])
    if (!t.ours) return
    const sidecar = await t.sidecar({ driver, args: ['--feature-gates=ReleaseLeaderElectionOnExit=true'] })
    await sidecar.line('"Version"')
    sidecar.signal('SIGTERM')
    equal((await sidecar.end(3000)).code, 0)
  })

  test('both spellings of a socket', async (t) => {
    const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
    const sidecar = await t.sidecar({ args: [`--csi-address=unix://${driver.socket}`] })
    await t.watching(sidecar, 'persistentvolumes')
  })

  test('Probe: repeated each second while not ready; an absent field means ready', async (t) => {
    const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
    driver.on('Probe', (_, nth) => ({ reply: nth < 2 ? { ready: false } : {} }))
    const sidecar = await t.sidecar({ driver })
    await t.watching(sidecar, 'persistentvolumes')
    const [first, second, third] = driver.callsOf('Probe')
    const gap = (second?.start ?? 0) - (first?.end ?? 0)
    ok(gap > 900 && gap < 1600, `asked again after ${gap} ms`)
    ok((third?.start ?? 0) > 0)
    equal(sidecar.linesWith('"CSI driver is not ready"').length, 2)
  })

  test('Probe: repeated after a time-out', async (t) => {
    const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
    driver.on('Probe', (_, nth) => (nth === 0 ? 'hang' : { reply: { ready: true } }))
    const sidecar = await t.sidecar({ driver, args: ['--timeout=1s'] })
    await t.watching(sidecar, 'persistentvolumes')
    equal(sidecar.linesWith('"CSI driver probe timed out"').length, 1)
    const [first] = driver.callsOf('Probe')
    ok((first?.timeoutMs ?? 0) > 700 && (first?.timeoutMs ?? 0) <= 1050, `${first?.timeoutMs}`)
  })

  test('Probe: any other error ends the start', async (t) => {
    const driver = await t.driver()
    driver.on('Probe', { code: 13, message: 'broken' })
    const sidecar = await t.sidecar({ driver })
    equal((await sidecar.end()).code, 1)
    const text = 'rpc error: code = Internal desc = broken'
    const expected =
      app === 'attacher'
        ? `"Failed to probe the CSI driver" err="CSI driver probe failed: ${text}"`
        : `"Failed to create CSI client" err="failed probing CSI driver: CSI driver probe failed: ${text}"`
    assertContains(sidecar.lines.at(-1), expected)
  })

  test('GetPluginInfo fails or returns no name: exit 1', async (t) => {
    for (const [script, err] of [
      [{ code: 13, message: 'broken' }, 'rpc error: code = Internal desc = broken'],
      [{ reply: { name: '', vendorVersion: '', manifest: {} } }, 'driver name is empty'],
    ] as const) {
      const driver = await t.driver()
      driver.on('GetPluginInfo', script)
      const sidecar = await t.sidecar({ driver })
      equal((await sidecar.end()).code, 1)
      const text = app === 'attacher' ? 'Failed to get the CSI driver name' : 'Get driver name failed'
      assertContains(sidecar.lines.at(-1), `"${text}" err="${err}"`)
    }
  })

  test('GetPluginCapabilities fails: exit 1', async (t) => {
    const driver = await t.driver()
    driver.on('GetPluginCapabilities', { code: 13, message: 'broken' })
    const sidecar = await t.sidecar({ driver })
    equal((await sidecar.end()).code, 1)
    const text = 'rpc error: code = Internal desc = broken'
    const expected =
      app === 'attacher'
        ? `"Failed to check if the CSI Driver supports the CONTROLLER_SERVICE" err="${text}" driver="${t.driverName}"`
        : `"Failed to create CSI resizer" err="failed to check if plugin supports controller service: error getting controller capabilities: ${text}"`
    assertContains(sidecar.lines.at(-1), expected)
  })

  test('ControllerGetCapabilities fails: exit 1', async (t) => {
    const driver = await t.driver()
    driver.on('ControllerGetCapabilities', { code: 13, message: 'broken' })
    const sidecar = await t.sidecar({ driver })
    equal((await sidecar.end()).code, 1)
    const text = 'rpc error: code = Internal desc = broken'
    const expected =
      app === 'attacher'
        ? `"Failed to controller capability check" err="${text}" driver="${t.driverName}"`
        : `"Failed to create CSI resizer" err="failed to check if plugin supports controller resize: error getting controller capabilities: ${text}"`
    assertContains(sidecar.lines.at(-1), expected)
  })

  test('unknown capability numbers are ignored', async (t) => {
    const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME', 11, 99] })
    const sidecar = await t.sidecar({ driver })
    await t.watching(sidecar, 'persistentvolumes')
  })

  test('an address in use ends the process', async (t) => {
    const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    try {
      const sidecar = await t.sidecar({ driver, args: [`--http-endpoint=127.0.0.1:${port}`] })
      equal((await sidecar.end()).code, 1)
      const text =
        app === 'attacher'
          ? 'Failed to start HTTP server at specified address and metrics path'
          : 'Failed to start HTTP server'
      const line = sidecar.linesWith(`"${text}"`)[0] ?? sidecar.stderr
      const context = app === 'attacher' ? ` driver="${t.driverName}"` : ''
      const pairs = `${context} address="127.0.0.1:${port}" metricsPath="/metrics"`
      assertContains(line, `err="listen tcp 127.0.0.1:${port}: bind: address already in use"${pairs}`)
    } finally {
      server.close()
    }
  })
}

const attacher = testsOf('attacher', 'start-up')

attacher('GetPluginInfo and the capabilities have one second', async (t) => {
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  const sidecar = await t.sidecar({ driver })
  await t.watching(sidecar, 'persistentvolumes')
  equal(
    driver.calls.map(({ method }) => method),
    ['Probe', 'GetPluginInfo', 'GetPluginCapabilities', 'ControllerGetCapabilities'],
  )
  const limits = driver.calls.map(({ timeoutMs }) => timeoutMs)
  const [probe = 0, info = 0, plugin = 0, controller = 0] = limits
  ok(probe > 14_000 && probe <= 15_050, `${limits}`)
  for (const limit of [info, plugin, controller]) ok(limit > 600 && limit <= 1050, `${limits}`)
})

attacher('the two capability calls share one second', async (t) => {
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  driver.on('GetPluginCapabilities', {
    reply: { capabilities: [{ type: { $case: 'service', value: { type: 1 } } }] },
    after: 700,
  })
  driver.on('ControllerGetCapabilities', { reply: { capabilities: [] }, after: 700 })
  const sidecar = await t.sidecar({ driver })
  equal((await sidecar.end()).code, 1)
  const line = sidecar.lines.at(-1) ?? ''
  // The driver's end of the call may notice first, and reports another message.
  match(
    line,
    /"Failed to controller capability check" err="rpc error: code = DeadlineExceeded desc = .*eadline exceeded"/,
  )
})

const resizer = testsOf('resizer', 'start-up')

resizer('no CONTROLLER_SERVICE: exit 1', async (t) => {
  const driver = await t.driver({ controllerService: false })
  const sidecar = await t.sidecar({ driver })
  equal((await sidecar.end()).code, 1)
  const line = sidecar.lines.at(-1) ?? ''
  assertContains(line, '"Failed to create CSI resizer" err="CSI driver does not support controller service"')
})

resizer('neither resize nor modify: a fatal line, exit 255', async (t) => {
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  const sidecar = await t.sidecar({ driver })
  equal((await sidecar.end()).code, 255)
  const line = sidecar.linesWith('CSI driver does not support resize nor modify')[0] ?? ''
  ok(line.startsWith('F'), sidecar.stderr)
  ok(sidecar.linesWith('"Resize not supported"').length === 1)
  ok(sidecar.linesWith('"Modify not supported"').length === 1)
})

resizer('NodeGetCapabilities fails: exit 1', async (t) => {
  const driver = await t.driver({ controller: ['MODIFY_VOLUME'] })
  driver.on('NodeGetCapabilities', { code: 13, message: 'broken' })
  const sidecar = await t.sidecar({ driver })
  equal((await sidecar.end()).code, 1)
  const line = sidecar.lines.at(-1) ?? ''
  const text =
    'failed to check if plugin supports node resize: error getting node capabilities: rpc error: code = Internal desc = broken'
  assertContains(line, `"Failed to create CSI resizer" err="${text}"`)
})

for (const [what, failing, text] of [
  [
    'access modes',
    1,
    '"Failed to create CSI resizer" err="failed to check if plugin supports the SINGLE_NODE_MULTI_WRITER capability: error getting controller capabilities: rpc error: code = Internal desc = broken"',
  ],
  [
    'modifications',
    2,
    '"Failed to create CSI modifier" err="failed to check if plugin supports controller modify: error getting controller capabilities: rpc error: code = Internal desc = broken"',
  ],
] as const) {
  resizer(`ControllerGetCapabilities fails in the check for ${what}: exit 1`, async (t) => {
    const driver = await t.driver()
    const expansion = { reply: { capabilities: [{ type: { $case: 'rpc', value: { type: 9 } } }] } }
    driver.on('ControllerGetCapabilities', (_, nth) => (nth === failing ? { code: 13, message: 'broken' } : expansion))
    const sidecar = await t.sidecar({ driver })
    equal((await sidecar.end()).code, 1)
    assertContains(sidecar.lines.at(-1), text)
  })
}

resizer('each part gets its capabilities with the time-out of its own calls', async (t) => {
  const driver = await t.driver({ controller: ['EXPAND_VOLUME', 'MODIFY_VOLUME'] })
  const sidecar = await t.sidecar({ driver, args: ['--resize-timeout=33s', '--modify-timeout=44s'] })
  await t.watching(sidecar, 'persistentvolumes')
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

resizer('Probe and GetPluginInfo have --timeout', async (t) => {
  const driver = await t.driver({ controller: ['EXPAND_VOLUME'] })
  const sidecar = await t.sidecar({ driver, args: ['--timeout=33s'] })
  await t.watching(sidecar, 'persistentvolumes')
  for (const { timeoutMs } of driver.callsOf('Probe', 'GetPluginInfo')) {
    ok(timeoutMs > 31_000 && timeoutMs <= 33_050, `${timeoutMs}`)
  }
})
