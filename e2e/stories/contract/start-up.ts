import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { says } from '../../harness/says.ts'
import { storiesOf } from '../../harness/story.ts'
import type { App } from '../../harness/subject.ts'
import type { Outcome, World } from '../../harness/world.ts'

/** The one error line of a start that fails: what it says and its pairs, without time and place. */
function lastWords({ lines }: Outcome): string {
  const line = lines.at(-1) ?? ''
  return `${line.slice(0, 1)} ${line.slice(line.indexOf(']') + 2)}`
}

const GATES_TEXT = { attacher: 'failed to store flag gates', resizer: 'Failed to set feature gates' }
const CONFIG_TEXT = { attacher: 'Failed to build a Kubernetes config', resizer: 'Failed to create cluster config' }
const CLIENT_TEXT = { attacher: 'Failed to create a Clientset', resizer: 'Failed to create kube client' }
const OTHER_GATES: Readonly<Record<App, readonly string[]>> = {
  attacher: ['VolumeAttributesClass', 'AnnotateFsResize'],
  resizer: ['MutableCSINodeAllocatableCount'],
}
const IN_CLUSTER =
  'unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined'
const DISABLED = 'Feature LoggingAlphaOptions is disabled'
const BURST = 'burst is required to be greater than 0 when RateLimiter is not set and QPS is set to greater than 0'

const LOGGING: readonly (readonly [args: readonly string[], err: string])[] = [
  [['--logging-format=x'], 'format: Invalid value: \\"x\\": Unsupported log format'],
  [['--logging-format='], 'format: Invalid value: \\"\\": Unsupported log format'],
  [['--logging-format=json', '--vmodule=a=1'], 'vmodule: Forbidden: Only supported for text log format'],
  [['--log-flush-frequency=0'], 'flushFrequency: Invalid value: \\"0s\\": Must be greater than zero'],
  [['--log-flush-frequency=-1s'], 'flushFrequency: Invalid value: \\"-1s\\": Must be greater than zero'],
  [['--log-json-split-stream'], `options.json.splitStream: Forbidden: ${DISABLED}`],
  [['--log-text-split-stream=true'], `options.text.splitStream: Forbidden: ${DISABLED}`],
  [['--log-json-info-buffer-size=1Ki'], `options.json.infoBufferSize: Forbidden: ${DISABLED}`],
  [['--log-text-info-buffer-size=1'], `options.text.infoBufferSize: Forbidden: ${DISABLED}`],
]

for (const app of ['attacher', 'resizer'] as const) {
  const story = storiesOf(app, 'start-up')
  const config = (t: World, server = 'https://127.0.0.1:1'): string => `--kubeconfig=${t.kubeconfig(server, 'x')}`

  story('logging options that are wrong: one line, exit 1', async (t) => {
    for (const [args, err] of LOGGING) {
      const outcome = await t.exec(args)
      equal(
        [outcome.code, outcome.lines.length, lastWords(outcome)],
        [1, 1, `E "LoggingConfiguration is invalid" err="${err}"`],
      )
    }
  })

  story('a gate that does not exist here: one line, exit 1', async (t) => {
    for (const gate of ['Nope', 'Topology', 'LoggingAlphaOptions', 'ContextualLogging', ...OTHER_GATES[app]]) {
      const outcome = await t.exec([`--feature-gates=${gate}=true`, '--kubeconfig=/nonexistent'])
      equal(outcome.code, 1)
      ok(
        lastWords(outcome).startsWith(`E "${GATES_TEXT[app]}" err="unrecognized feature gate: ${gate}"`),
        lastWords(outcome),
      )
    }
  })

  story('a GA gate: a warning, and it counts', async (t) => {
    const gate = app === 'attacher' ? 'MutableCSINodeAllocatableCount' : 'VolumeAttributesClass'
    const { lines } = await t.exec([`--feature-gates=${gate}=false`, '--kubeconfig=/nonexistent'])
    const line = lines.find((each) => each.includes('Warning: setting GA feature gate.')) ?? ''
    ok(
      line.startsWith('I') &&
        line.endsWith(
          `"Warning: setting GA feature gate. It will be removed in a future release." featureGate="${gate}" value=false`,
        ),
      line,
    )
  })

  story('a gate that is always on now: accepted when on, refused when off', { only: 'ours' }, async (t) => {
    const gate = 'RecoverVolumeExpansionFailure'
    if (app === 'attacher') {
      equal((await t.exec([`--feature-gates=${gate}=true`])).code, 1)
      return
    }
    const on = await t.exec([`--feature-gates=${gate}=true`, '--kubeconfig=/nonexistent'])
    const warning = on.lines.find((line) => line.includes('"Ignoring feature gate that is always on"')) ?? ''
    ok(warning.endsWith(`featureGate="${gate}" value=true`), on.stderr)
    ok(lastWords(on).includes(CONFIG_TEXT[app]), on.stderr)
    const off = await t.exec([`--feature-gates=${gate}=false`, '--kubeconfig=/nonexistent'])
    equal(off.code, 1)
    ok(lastWords(off).includes(`err="cannot set feature gate ${gate} to false, feature is locked to true"`), off.stderr)
  })

  story('both HTTP flags: exit 1', async (t) => {
    const outcome = await t.exec(['--metrics-address=:1', '--http-endpoint=:2', '--kubeconfig=/nonexistent'])
    const stop = app === 'resizer' ? '.' : ''
    equal(outcome.code, 1)
    equal(lastWords(outcome), `E "Only one of \`--metrics-address\` and \`--http-endpoint\` can be set${stop}"`)
  })

  story('no configuration: exit 1 and the reason', async (t) => {
    const bad = join(t.folder, 'bad.yaml')
    writeFileSync(bad, 'bad: [')
    const empty = join(t.folder, 'empty.json')
    writeFileSync(empty, '{}')
    for (const [args, err] of [
      [[], IN_CLUSTER],
      [['--kubeconfig=/nonexistent'], 'stat /nonexistent: no such file or directory'],
      [
        [`--kubeconfig=${empty}`],
        'invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable',
      ],
    ] as const) {
      const outcome = await t.exec(args)
      equal([outcome.code, lastWords(outcome)], [1, `E "${CONFIG_TEXT[app]}" err="${err}"`])
      ok(outcome.lines.some((line) => line.startsWith('I') && / "Version" version="v?\d/.test(line)))
    }
    const broken = await t.exec([`--kubeconfig=${bad}`])
    equal(broken.code, 1)
    ok(
      lastWords(broken).startsWith(`E "${CONFIG_TEXT[app]}" err="error loading config file \\"${bad}\\": `),
      lastWords(broken),
    )
  })

  story('a service account without its token: exit 1', async (t) => {
    const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1' }
    const outcome = await t.exec([], { env })
    equal(outcome.code, 1)
    equal(
      lastWords(outcome),
      `E "${CONFIG_TEXT[app]}" err="open /var/run/secrets/kubernetes.io/serviceaccount/token: no such file or directory"`,
    )
  })

  story('a burst that lets nothing through: exit 1', async (t) => {
    for (const burst of ['0', '-1']) {
      const outcome = await t.exec([config(t), '--kube-api-qps=5', `--kube-api-burst=${burst}`])
      equal([outcome.code, lastWords(outcome)], [1, `E "${CLIENT_TEXT[app]}" err="${BURST}"`])
    }
  })

  story('an address that is no unix socket: exit 1 at once', async (t) => {
    for (const address of ['tcp://1.2.3.4:5', 'relative/path', '']) {
      const outcome = await t.exec([config(t), `--csi-address=${address}`])
      const text = 'OnConnectionLoss callback only supported for unix:// addresses'
      const expected =
        app === 'attacher'
          ? `E "Failed to connect to the CSI driver" err="${text}" csiAddress="${address}"`
          : `E "Failed to create CSI client" err="failed to connect to CSI driver: ${text}"`
      equal([outcome.code, lastWords(outcome)], [1, expected])
    }
  })

  story('no driver: Still connecting every 10 s, exit 1 after 30 s', async (t) => {
    const address = join(t.folder, 'no.sock')
    const began = Date.now()
    const outcome = await t.exec([config(t, t.cluster.url), `--csi-address=${address}`], { within: 40_000 })
    const seconds = (Date.now() - began) / 1000
    ok(seconds > 29 && seconds < 33, `ended after ${seconds} s`)
    const expected =
      app === 'attacher'
        ? `E "Failed to connect to the CSI driver" err="context deadline exceeded" csiAddress="${address}"`
        : 'E "Failed to create CSI client" err="failed to connect to CSI driver: context deadline exceeded"'
    equal([outcome.code, lastWords(outcome)], [1, expected])
    const still = outcome.lines.filter((line) => line.includes('"Still connecting"'))
    ok(
      still.length >= 2 && still.length <= 3 && still.every((line) => line.startsWith('W') || line.startsWith('I')),
      `${still}`,
    )
  })

  story('a driver that comes later is found within seconds', async (t) => {
    const driver = t.idleDriver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
    const sidecar = await t.sidecar({ driver })
    await new Promise((resolve) => setImmediate(resolve))
    await sidecar.line('"Version"')
    await driver.start()
    await sidecar.line('"Probing CSI driver for readiness"', { within: 5000 })
  })

  story('both spellings of a socket', async (t) => {
    const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
    const sidecar = await t.sidecar({ args: [`--csi-address=unix://${driver.socket}`] })
    await t.watching(sidecar, 'persistentvolumes')
  })

  story('Probe: not ready is asked again each second, no answer field means ready', async (t) => {
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

  story('Probe: a time-out is asked again', async (t) => {
    const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
    driver.on('Probe', (_, nth) => (nth === 0 ? 'hang' : { reply: { ready: true } }))
    const sidecar = await t.sidecar({ driver, args: ['--timeout=1s'] })
    await t.watching(sidecar, 'persistentvolumes')
    equal(sidecar.linesWith('"CSI driver probe timed out"').length, 1)
    const [first] = driver.callsOf('Probe')
    ok((first?.timeoutMs ?? 0) > 700 && (first?.timeoutMs ?? 0) <= 1050, `${first?.timeoutMs}`)
  })

  story('Probe: any other error ends the start', async (t) => {
    const driver = await t.driver()
    driver.on('Probe', { code: 13, message: 'broken' })
    const sidecar = await t.sidecar({ driver })
    equal((await sidecar.end()).code, 1)
    const text = 'rpc error: code = Internal desc = broken'
    const expected =
      app === 'attacher'
        ? `"Failed to probe the CSI driver" err="CSI driver probe failed: ${text}"`
        : `"Failed to create CSI client" err="failed probing CSI driver: CSI driver probe failed: ${text}"`
    says(sidecar.lines.at(-1), expected)
  })

  story('GetPluginInfo fails or names nobody: exit 1', async (t) => {
    for (const [script, err] of [
      [{ code: 13, message: 'broken' }, 'rpc error: code = Internal desc = broken'],
      [{ reply: { name: '', vendorVersion: '', manifest: {} } }, 'driver name is empty'],
    ] as const) {
      const driver = await t.driver()
      driver.on('GetPluginInfo', script)
      const sidecar = await t.sidecar({ driver })
      equal((await sidecar.end()).code, 1)
      const text = app === 'attacher' ? 'Failed to get the CSI driver name' : 'Get driver name failed'
      says(sidecar.lines.at(-1), `"${text}" err="${err}"`)
    }
  })

  story('GetPluginCapabilities fails: exit 1', async (t) => {
    const driver = await t.driver()
    driver.on('GetPluginCapabilities', { code: 13, message: 'broken' })
    const sidecar = await t.sidecar({ driver })
    equal((await sidecar.end()).code, 1)
    const text = 'rpc error: code = Internal desc = broken'
    const expected =
      app === 'attacher'
        ? `"Failed to check if the CSI Driver supports the CONTROLLER_SERVICE" err="${text}"`
        : '"Failed to create CSI resizer"'
    says(sidecar.lines.at(-1), expected, text)
  })

  story('ControllerGetCapabilities fails: exit 1', async (t) => {
    const driver = await t.driver()
    driver.on('ControllerGetCapabilities', { code: 13, message: 'broken' })
    const sidecar = await t.sidecar({ driver })
    equal((await sidecar.end()).code, 1)
    const text = 'rpc error: code = Internal desc = broken'
    const expected =
      app === 'attacher'
        ? `"Failed to controller capability check" err="${text}"`
        : `"Failed to create CSI resizer" err="failed to check if plugin supports controller resize: error getting controller capabilities: ${text}"`
    says(sidecar.lines.at(-1), expected)
  })

  story('capability numbers that nobody knows are ignored', async (t) => {
    const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME', 11, 99] })
    const sidecar = await t.sidecar({ driver })
    await t.watching(sidecar, 'persistentvolumes')
  })

  story('an address that is taken ends the process', async (t) => {
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
      says(line, `err="listen tcp 127.0.0.1:${port}: bind: address already in use"`)
    } finally {
      server.close()
    }
  })
}

const attacher = storiesOf('attacher', 'start-up')

attacher('--worker-threads=0: exit 1, after the configuration', async (t) => {
  const outcome = await t.exec([`--kubeconfig=${t.kubeconfig('https://127.0.0.1:1', 'x')}`, '--worker-threads=0'])
  equal([outcome.code, lastWords(outcome)], [1, 'E "Option -worker-threads must be greater than zero"'])
  const earlier = await t.exec(['--kubeconfig=/nonexistent', '--worker-threads=0'])
  ok(lastWords(earlier).includes('Failed to build a Kubernetes config'))
})

attacher('gates are looked at before --version', async (t) => {
  const outcome = await t.exec(['--feature-gates=Nope=true', '--version'])
  equal([outcome.code, outcome.stdout], [1, ''])
})

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
  // The driver's end of the call may notice first, and says it in its own words.
  match(
    line,
    /"Failed to controller capability check" err="rpc error: code = DeadlineExceeded desc = .*eadline exceeded"/,
  )
})

const resizer = storiesOf('resizer', 'start-up')

resizer('no CONTROLLER_SERVICE: exit 1', async (t) => {
  const driver = await t.driver({ controllerService: false })
  const sidecar = await t.sidecar({ driver })
  equal((await sidecar.end()).code, 1)
  const line = sidecar.lines.at(-1) ?? ''
  says(line, '"Failed to create CSI resizer" err="CSI driver does not support controller service"')
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
  says(line, `"Failed to create CSI resizer" err="${text}"`)
})

resizer('gates are looked at after --version', async (t) => {
  const outcome = await t.exec(['--feature-gates=Nope=true', '--version'])
  equal(outcome.code, 0)
})

resizer('Probe and GetPluginInfo have --timeout', async (t) => {
  const driver = await t.driver({ controller: ['EXPAND_VOLUME'] })
  const sidecar = await t.sidecar({ driver, args: ['--timeout=33s'] })
  await t.watching(sidecar, 'persistentvolumes')
  for (const { timeoutMs } of driver.callsOf('Probe', 'GetPluginInfo')) {
    ok(timeoutMs > 31_000 && timeoutMs <= 33_050, `${timeoutMs}`)
  }
})
