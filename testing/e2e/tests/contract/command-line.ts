import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { ORIGINAL_FLAGS } from '../../../../tools/docs/rollback-table.ts'
import { assertContains } from '../../harness/process/sidecar.ts'
import { testsOf, WITHOUT_API } from '../../harness/test.ts'
import { startsOf } from '../../rows/starts.ts'

const REMOVED_FLAGS = [
  'logtostderr',
  'alsologtostderr',
  'stderrthreshold',
  'log_dir',
  'log_file',
  'log_file_max_size',
  'one_output',
  'skip_headers',
  'skip_log_headers',
  'add_dir_header',
  'log_backtrace_at',
]

/** Invalid arguments. */
const REFUSED: readonly (readonly string[])[] = [
  ['--nope'],
  ['-nope'],
  ['--nope=1'],
  ['-v5'],
  ['--csi-addr=x'],
  ['---x'],
  ['-=x'],
  ['--=x'],
  ['--csi-address'],
  ['-v'],
  ...['a', '', '1.5', '08', '99999999999999999999'].map((value) => [`--kube-api-burst=${value}`]),
  ['--kube-api-qps=x'],
  ['--kube-api-qps=1e500'],
  ...['60', '1d', '1M', '1m 30s', '', '9999999999h'].map((value) => [`--timeout=${value}`]),
  ['--leader-election=yes'],
  ['--version='],
  ['--automaxprocs=x'],
  ['-v=-1'],
  ['--v=x'],
  ['--v', '0x5'],
  ['--v=2147483648'],
  ['--feature-gates=A'],
  ['--feature-gates=K=maybe'],
  ...['a=b', '', 'a:b:c'].map((value) => [`--leader-election-labels=${value}`]),
  ['--vmodule=foo'],
  ['--vmodule=foo=x'],
  ['--log-json-info-buffer-size=x'],
  ['--log-text-split-stream=x'],
  ['--log-flush-frequency=x'],
  ...REMOVED_FLAGS.map((flag) => [`--${flag}=true`]),
]

const REFUSED_BY: Readonly<Record<'attacher' | 'resizer', readonly string[]>> = {
  attacher: [
    '--worker-threads=-1',
    '--worker-threads=+1',
    '--max-entries=x',
    '--extra-modify-metadata',
    '--handle-volume-inuse-error=false',
  ],
  resizer: ['--workers=x', '--resize-timeout=5', '--reconcile-sync=1m', '--default-fstype=ext4'],
}

/** Valid arguments. They contain `--version`, which ends the process after all arguments are parsed. */
const ACCEPTED: readonly (readonly string[])[] = [
  ['-version'],
  ['--version=T'],
  ['--version=1'],
  ['--version=false', '--version'],
  ['--version', 'junk', '--nonsense'],
  ['--version', '--', '--nonsense'],
  ['--version', '-', '--nonsense'],
  ['--version', 'false'],
  ['--kube-api-burst=0x10', '--version'],
  ['--kube-api-burst=010', '--version'],
  ['--kube-api-burst=0o17', '--version'],
  ['--kube-api-burst=0b11', '--version'],
  ['--kube-api-burst=1_000', '--version'],
  ['--kube-api-burst=+5', '--version'],
  ['--kube-api-burst', '-5', '--version'],
  ['--kube-api-qps=0x1p-2', '--version'],
  ['--kube-api-qps=inf', '--version'],
  ['--kube-api-qps=nan', '--version'],
  ['--kube-api-qps=1e3', '--version'],
  ['--kube-api-qps=-1', '--version'],
  ['--kube-api-qps=.5', '--version'],
  ['--timeout=0', '--version'],
  ['--timeout=-1.5h3us4µs5μs6ns', '--version'],
  ['--timeout', '1h2m3s', '--version'],
  ['--timeout=.5s', '--version'],
  ['-v', '3', '--version'],
  ['-v=2147483647', '--version'],
  ['--v=0005', '--version'],
  ['--feature-gates=', '--version'],
  ['--feature-gates=WatchList=true,AllBeta=false', '--version'],
  ['--feature-gates=ReleaseLeaderElectionOnExit = T', '--version'],
  ['--leader-election-labels=a:b,c:d', '--version'],
  ['--vmodule=a=1,b*=2', '--version'],
  ['--automaxprocs', '--version'],
  ['--logging-format=json', '--version'],
  ['--metrics-address=:1', '--http-endpoint=:2', '--version'],
  ['--kubeconfig=/nonexistent', '--version'],
  ['--retry-interval-start=2m', '--retry-interval-max=1m', '--version'],
]

const ACCEPTED_BY: Readonly<Record<'attacher' | 'resizer', typeof ACCEPTED>> = {
  attacher: [
    ['--worker-threads=0', '--version'],
    ['--worker-threads=1200', '--version'],
    ['--max-entries=-1', '--max-grpc-log-length=-1', '--resync=0', '--reconcile-sync=10m', '--version'],
    ['--default-fstype=', '--version'],
  ],
  resizer: [
    ['--workers=-1', '--version'],
    ['--resize-timeout=1m', '--modify-timeout=1m', '--extra-modify-metadata', '--version'],
    ['--handle-volume-inuse-error=false', '--master=http://x', '--resync-period=1m', '--version'],
    ['--feature-gates=Nope=true', '--version'],
  ],
}

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'command line', WITHOUT_API)
  startsOf(
    app,
    'command line',
    import.meta.filename,
  )('invalid arguments end the sidecar with the error, the usage and exit code 2', {
    starts: [...REFUSED, ...REFUSED_BY[app].map((flag) => [flag])].map((args) => ({ args })),
    differs: ['command-line-help'],
  })

  test('the whole usage follows an invalid argument', async (t) => {
    const { stderr } = await t.exec(['--nope'])
    ok(stderr.split('\n').length > 40, stderr)
  })

  test('--version with valid arguments prints only the version to stdout and exits with 0', async (t) => {
    for (const args of [...ACCEPTED, ...ACCEPTED_BY[app]]) {
      const { code, stdout, binary } = await t.exec(args)
      equal({ args, code }, { args, code: 0 })
      ok(stdout.startsWith(`${binary} `) && /^v?\d+\.\d+\.\d+\S*\n$/.test(stdout.slice(binary.length + 1)), stdout)
    }
  })

  test('--help prints the usage with every flag to stderr and exits with 0', async (t) => {
    for (const help of ['-h', '-help', '--help', '--help=true', '--h=false']) {
      const { code, stdout, stderr, binary } = await t.exec([help])
      equal({ help, code, stdout }, { help, code: 0, stdout: '' })
      ok(stderr.startsWith(`Usage of ${binary}:\n`))
      const flags = [...stderr.matchAll(/^ {2}-(\S+)/gm)].map(([, name]) => name ?? '')
      equal(flags, [...flags].sort())
      for (const flag of ORIGINAL_FLAGS[app] ?? []) ok(flags.includes(flag), `usage has no -${flag}`)
      // Fails if a newer Go sidecar has a flag that our sidecars lack.
      if (!t.ours) equal(flags, [...(ORIGINAL_FLAGS[app] ?? [])].sort())
    }
  })

  test('--help shows the defaults in the form of Go', async (t) => {
    const { stderr } = await t.exec(['--help'])
    const text = stderr.replaceAll(/\n\s+\t?/g, ' ')
    const timeout = app === 'attacher' ? '15s' : '10s'
    match(text, new RegExp(`-timeout duration .*?\\(default ${timeout}\\)`))
    match(text, /-csi-address \S+ .*?\(default "\/run\/csi\/socket"\)/)
    match(text, /-leader-election-lease-duration duration .*?\(default 15s\)/)
    match(text, /-retry-interval-max duration .*?\(default 5m0s\)/)
    match(text, /-metrics-path \S+ .*?\(default "?\/metrics"?\)/)
  })

  test('the sidecar ignores --nonsense after `--leader-election false`, because `false` ends the flags', async (t) => {
    const { code, lines } = await t.exec(['--leader-election', 'false', '--nonsense'])
    equal(code, 1)
    assertContains(lines.at(-1), 'unable to load in-cluster configuration')
  })
}
