import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kubeconfigOf, type TestContext } from '../../harness/context.ts'
import { memoryLimit } from '../../harness/process/memory.ts'
import { assertContains, lastLogLine } from '../../harness/process/sidecar.ts'
import { sharingCode, testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { startsOf } from '../../rows/starts.ts'
import { scene, work } from '../../rows/work.ts'

const OTHER_GATES: Readonly<Record<'attacher' | 'resizer', readonly string[]>> = {
  attacher: ['VolumeAttributesClass', 'AnnotateFsResize'],
  resizer: ['MutableCSINodeAllocatableCount'],
}

const LOGGING = [
  ['--logging-format=x'],
  ['--logging-format='],
  ['--logging-format=json', '--vmodule=a=1'],
  ['--log-flush-frequency=0'],
  ['--log-flush-frequency=-1s'],
  ['--log-json-split-stream'],
  ['--log-text-split-stream=true'],
  ['--log-json-info-buffer-size=1Ki'],
  ['--log-text-info-buffer-size=1'],
]

const config = (t: TestContext): string => `--kubeconfig=${t.kubeconfig('https://127.0.0.1:1', 'x')}`

/** Returns the argument for a file with this text. */
function kubeconfigFile(t: TestContext, name: string, text: string): string {
  const file = join(t.folder, name)
  writeFileSync(file, text)
  return `--kubeconfig=${file}`
}

/** Kubeconfigs that can be read, but from which no client can be created. */
const CONFIGS_THAT_FAIL: Readonly<Record<string, { readonly cluster?: object; readonly user?: object }>> = {
  'no-authority.json': { cluster: { 'certificate-authority-data': 'eA==' } },
  'insecure.json': { cluster: { 'insecure-skip-tls-verify': true } },
  'no-url.json': { cluster: { server: '127.0.0.1:1/path' } },
}

/** Writes the kubeconfig with this name, and returns the argument for it. */
function writeConfigThatFails(t: TestContext, name: string): string {
  const { cluster, user } = CONFIGS_THAT_FAIL[name] ?? {}
  const document = kubeconfigOf('https://127.0.0.1:1', t.cluster.certificate.cert, { token: 'x', ...user }) as {
    clusters: [{ cluster: object }]
  }
  Object.assign(document.clusters[0].cluster, cluster)
  return kubeconfigFile(t, name, JSON.stringify(document))
}

for (const app of sharingCode('resizer')) {
  const test = testsOf(app, 'start-up')
  const starts = startsOf(app, 'start-up', import.meta.filename)

  starts('invalid logging options end the sidecar with exit code 1 and the reason', {
    starts: LOGGING.map((args) => ({ args })),
  })

  starts('an unknown feature gate ends the process with exit code 1 and an error line', {
    starts: ['Nope', 'Topology', 'LoggingAlphaOptions', 'ContextualLogging', ...OTHER_GATES[app]].map((gate) => ({
      args: [`--feature-gates=${gate}=true`, '--kubeconfig=/nonexistent'],
    })),
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

  starts('--metrics-address together with --http-endpoint ends the process with exit code 1', {
    starts: [{ args: ['--metrics-address=:1', '--http-endpoint=:2', '--kubeconfig=/nonexistent'] }],
  })

  starts('a missing or empty cluster configuration ends the process with exit code 1 and the reason', {
    starts: [{}, { args: ['--kubeconfig=/nonexistent'] }, { args: (t) => [kubeconfigFile(t, 'empty.json', '{}')] }],
  })

  test('a broken cluster configuration ends the process with exit code 1 and the name of the file', async (t) => {
    const [flag, bad = ''] = kubeconfigFile(t, 'bad.yaml', 'bad: [').split('=')
    const broken = await t.exec([`${flag}=${bad}`])
    equal(broken.code, 1)
    assertContains(lastLogLine(broken), `err="error loading config file \\"${bad}\\": `)
    ok(broken.lines.some((line) => line.startsWith('I') && / "Version" version="v?\d/.test(line)))
  })

  starts('a service account without a token ends the process with exit code 1', {
    starts: [{ env: { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1' } }],
  })

  starts('a kubeconfig from which no client can be created ends the process with exit code 1', {
    starts: Object.keys(CONFIGS_THAT_FAIL).map((name) => ({ args: (t) => [writeConfigThatFails(t, name)] })),
  })

  test('a kubeconfig with an invalid client certificate ends the process with exit code 1', async (t) => {
    const user = { 'client-certificate-data': 'eA==', 'client-key-data': 'eA==' }
    const document = kubeconfigOf('https://127.0.0.1:1', t.cluster.certificate.cert, user)
    const { code, lines } = await t.exec([kubeconfigFile(t, 'certificate.json', JSON.stringify(document))])
    equal(code, 1)
    assertContains(lines.at(-1), app === 'attacher' ? 'Failed to create a Clientset' : 'Failed to create kube client')
  })

  starts('a --kube-api-burst of 0 or less ends the sidecar with exit code 1', {
    starts: ['0', '-1'].map((burst) => ({
      args: (t) => [config(t), '--kube-api-qps=5', `--kube-api-burst=${burst}`],
    })),
  })

  starts('a driver address that is not a Unix socket ends the process at once with exit code 1', {
    starts: ['tcp://1.2.3.4:5', 'relative/path', ''].map((address) => ({
      args: (t) => [config(t), `--csi-address=${address}`],
    })),
  })
}

const attacher = startsOf('attacher', 'start-up', import.meta.filename)

attacher('--worker-threads=0 ends the attacher with exit code 1, after a missing kubeconfig and before a broken one', {
  starts: [
    { args: (t) => [config(t), '--worker-threads=0'] },
    { args: ['--kubeconfig=/nonexistent', '--worker-threads=0'] },
    { args: (t) => [writeConfigThatFails(t, 'insecure.json'), '--worker-threads=0'] },
  ],
})

attacher('the attacher validates the feature gates before it prints the version', {
  starts: [{ args: ['--feature-gates=Nope=true', '--version'] }],
})

const resizer = testsOf('resizer', 'start-up')

resizer('the resizer prints the version without a validation of the feature gates', async (t) => {
  const outcome = await t.exec(['--feature-gates=Nope=true', '--version'])
  equal(outcome.code, 0)
})

const WARNING = 'The memory limit is too low'

for (const app of sharingCode('resizer')) {
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

for (const app of sharingCode('resizer')) {
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
