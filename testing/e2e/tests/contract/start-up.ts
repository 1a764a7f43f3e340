import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kubeconfigOf, type TestContext } from '../../harness/context.ts'
import { memoryLimit } from '../../harness/process/memory.ts'
import { lastLogLine } from '../../harness/process/sidecar.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { scene, work } from '../../rows/work.ts'

const GATES_TEXT = { attacher: 'failed to store flag gates', resizer: 'Failed to set feature gates' }
const CONFIG_TEXT = { attacher: 'Failed to build a Kubernetes config', resizer: 'Failed to create cluster config' }
const CLIENT_TEXT = { attacher: 'Failed to create a Clientset', resizer: 'Failed to create kube client' }
const OTHER_GATES: Readonly<Record<'attacher' | 'resizer', readonly string[]>> = {
  attacher: ['VolumeAttributesClass', 'AnnotateFsResize'],
  resizer: ['MutableCSINodeAllocatableCount'],
}
const IN_CLUSTER =
  'unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined'
const DISABLED = 'Feature LoggingAlphaOptions is disabled'
const BURST = 'burst is required to be greater than 0 when RateLimiter is not set and QPS is set to greater than 0'

/** Kubeconfigs that can be read, but from which no client can be created, and the error. */
const INVALID_KUBECONFIGS: readonly (readonly [cluster: object, user: object, err: string])[] = [
  [
    { 'certificate-authority-data': 'eA==' },
    {},
    'unable to load root certificates: unable to parse bytes as PEM block',
  ],
  [
    { 'insecure-skip-tls-verify': true },
    {},
    'specifying a root certificates file with the insecure flag is not allowed',
  ],
  [{}, { 'client-certificate-data': 'eA==', 'client-key-data': 'eA==' }, ''],
  [{ server: '127.0.0.1:1/path' }, {}, 'host must be a URL or a host:port pair: \\"127.0.0.1:1/path\\"'],
]

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
  const test = testsOf(app, 'start-up')
  const config = (t: TestContext, server = 'https://127.0.0.1:1'): string => `--kubeconfig=${t.kubeconfig(server, 'x')}`

  test('invalid logging options end the sidecar with one log line and exit code 1', async (t) => {
    for (const [args, err] of LOGGING) {
      const outcome = await t.exec(args)
      equal(
        [outcome.code, outcome.lines.length, lastLogLine(outcome)],
        [1, 1, `E "LoggingConfiguration is invalid" err="${err}"`],
      )
    }
  })

  test('an unknown feature gate ends the process with exit code 1 and an error line', async (t) => {
    for (const gate of ['Nope', 'Topology', 'LoggingAlphaOptions', 'ContextualLogging', ...OTHER_GATES[app]]) {
      const outcome = await t.exec([`--feature-gates=${gate}=true`, '--kubeconfig=/nonexistent'])
      equal(outcome.code, 1)
      const gatePair = app === 'attacher' ? ` featureGates={"${gate}":true}` : ''
      equal(lastLogLine(outcome), `E "${GATES_TEXT[app]}" err="unrecognized feature gate: ${gate}"${gatePair}`)
    }
  })

  test('setting a GA feature gate logs a warning', async (t) => {
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

  test('--metrics-address together with --http-endpoint ends the process with exit code 1', async (t) => {
    const outcome = await t.exec(['--metrics-address=:1', '--http-endpoint=:2', '--kubeconfig=/nonexistent'])
    const stop = app === 'resizer' ? '.' : ''
    equal(outcome.code, 1)
    equal(lastLogLine(outcome), `E "Only one of \`--metrics-address\` and \`--http-endpoint\` can be set${stop}"`)
  })

  test('a missing or broken cluster configuration ends the process with exit code 1 and the reason', async (t) => {
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
      equal([outcome.code, lastLogLine(outcome)], [1, `E "${CONFIG_TEXT[app]}" err="${err}"`])
      ok(outcome.lines.some((line) => line.startsWith('I') && / "Version" version="v?\d/.test(line)))
    }
    const broken = await t.exec([`--kubeconfig=${bad}`])
    equal(broken.code, 1)
    ok(
      lastLogLine(broken).startsWith(`E "${CONFIG_TEXT[app]}" err="error loading config file \\"${bad}\\": `),
      lastLogLine(broken),
    )
  })

  test('a service account without a token ends the process with exit code 1', async (t) => {
    const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1' }
    const outcome = await t.exec([], { env })
    equal(outcome.code, 1)
    equal(
      lastLogLine(outcome),
      `E "${CONFIG_TEXT[app]}" err="open /var/run/secrets/kubernetes.io/serviceaccount/token: no such file or directory"`,
    )
  })

  test('a kubeconfig from which no client can be created ends the process with exit code 1', async (t) => {
    for (const [cluster, user, err] of INVALID_KUBECONFIGS) {
      const document = kubeconfigOf('https://127.0.0.1:1', t.cluster.certificate.cert, { token: 'x', ...user }) as {
        clusters: [{ cluster: object }]
      }
      Object.assign(document.clusters[0].cluster, cluster)
      const file = join(t.folder, 'unusable.json')
      writeFileSync(file, JSON.stringify(document))
      const outcome = await t.exec([`--kubeconfig=${file}`])
      equal(outcome.code, 1)
      ok(lastLogLine(outcome).startsWith(`E "${CLIENT_TEXT[app]}" err="${err}`), outcome.stderr)
      if (app === 'resizer') continue
      const earlier = await t.exec([`--kubeconfig=${file}`, '--worker-threads=0'])
      ok(lastLogLine(earlier).includes('Option -worker-threads must be greater than zero'), earlier.stderr)
    }
  })

  test('a --kube-api-burst of 0 or less ends the sidecar with exit code 1', async (t) => {
    for (const burst of ['0', '-1']) {
      const outcome = await t.exec([config(t), '--kube-api-qps=5', `--kube-api-burst=${burst}`])
      equal([outcome.code, lastLogLine(outcome)], [1, `E "${CLIENT_TEXT[app]}" err="${BURST}"`])
    }
  })

  test('a driver address that is not a Unix socket ends the process at once with exit code 1', async (t) => {
    for (const address of ['tcp://1.2.3.4:5', 'relative/path', '']) {
      const outcome = await t.exec([config(t), `--csi-address=${address}`])
      const text = 'OnConnectionLoss callback only supported for unix:// addresses'
      const expected =
        app === 'attacher'
          ? `E "Failed to connect to the CSI driver" err="${text}" csiAddress="${address}"`
          : `E "Failed to create CSI client" err="failed to connect to CSI driver: ${text}"`
      equal([outcome.code, lastLogLine(outcome)], [1, expected])
    }
  })
}

const attacher = testsOf('attacher', 'start-up')

attacher('--worker-threads=0 ends the attacher with exit code 1', async (t) => {
  const outcome = await t.exec([`--kubeconfig=${t.kubeconfig('https://127.0.0.1:1', 'x')}`, '--worker-threads=0'])
  equal([outcome.code, lastLogLine(outcome)], [1, 'E "Option -worker-threads must be greater than zero"'])
  const earlier = await t.exec(['--kubeconfig=/nonexistent', '--worker-threads=0'])
  ok(lastLogLine(earlier).includes('Failed to build a Kubernetes config'))
})

attacher('the attacher validates the feature gates before it prints the version', async (t) => {
  const outcome = await t.exec(['--feature-gates=Nope=true', '--version'])
  equal([outcome.code, outcome.stdout], [1, ''])
})

const resizer = testsOf('resizer', 'start-up')

resizer('the resizer prints the version without a validation of the feature gates', async (t) => {
  const outcome = await t.exec(['--feature-gates=Nope=true', '--version'])
  equal(outcome.code, 0)
})

const WARNING = 'The memory limit is too low'

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'start', { only: 'ours' })

  test('the sidecar ignores environment variables that Node.js reads before any script', async (t) => {
    const config = join(t.folder, 'bad.cnf')
    writeFileSync(config, 'no equal sign\n')
    const coverage = join(t.folder, 'coverage')
    const driver = await t.fullDriver()
    const env = { NODE_V8_COVERAGE: coverage, OPENSSL_CONF: config, NODE_OPTIONS: '--no-such-option' }
    const sidecar = await t.sidecar({ driver, env })
    await sidecar.line('ServeMux listening')
    equal((await sidecar.endBy('SIGTERM')).code, 0)
    equal(existsSync(coverage), false)
  })

  for (const [mib, warns] of [
    [64, true],
    [128, false],
  ] as const) {
    const title = `a memory limit of ${mib} MiB causes ${warns ? 'one warning' : 'no warning'}`
    // The test checks nothing if the user cannot create a control group.
    test(title, { notOne: true }, async (t) => {
      const name = t.name(`memory-${mib}`)
      const limit = memoryLimit(mib, { name, program: t.executable(), folder: t.folder })
      if (limit === undefined) return
      const driver = await t.fullDriver()
      const sidecar = await t.sidecar({ driver, binary: limit.binary })
      await sidecar.line('ServeMux listening')
      const warnings = sidecar.linesWith(WARNING)
      equal(warnings.length, warns ? 1 : 0)
      if (warns) match(warnings[0] ?? '', /^W.* limit="64Mi" needed="80Mi" neededPerThousandObjects="2Mi"$/)
      await sidecar.endBy('SIGKILL')
      await eventually('the end of the control group', () => {
        limit.remove()
        return true
      })
    })
  }
}

const RESOURCES = {
  attacher: ['csinodes', 'persistentvolumes', 'volumeattachments'],
  resizer: ['persistentvolumeclaims', 'persistentvolumes', 'volumeattributesclasses'],
}

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'reads')

  test('every watch requests bookmarks and a time-out of 5 to 10 minutes', async (t) => {
    const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME', 'MODIFY_VOLUME'] })
    const pods = app === 'resizer' && !t.ours ? ['pods'] : []
    const { sidecar } = await scene(t, { driver, watches: [...RESOURCES[app], ...pods] })
    await work(t)
    const watches = sidecar.gate.requests.filter(({ watch, resource }) => watch && resource !== 'leases')
    for (const { query, path } of watches) {
      equal({ path, bookmarks: query['allowWatchBookmarks'] }, { path, bookmarks: 'true' })
      const seconds = Number(query['timeoutSeconds'])
      ok(seconds >= 300 && seconds <= 600, `${path} ends after ${seconds} s`)
    }
    const reads = sidecar.gate.requests.filter(({ method, resource }) => method === 'GET' && resource !== '')
    const read = new Set(reads.map(({ resource }) => resource))
    equal([...read].sort(), [...RESOURCES[app], ...pods].sort())
  })

  // The combined process is excluded, because its user agent begins with another name.
  test('the user agent in API requests begins with the name of the sidecar', { notOne: true }, async (t) => {
    const sidecar = await t.running()
    for (const { userAgent } of sidecar.gate.requests) match(userAgent ?? '', new RegExp(`^csi-${app}/`))
  })
}
