import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { ORIGINAL_FLAGS } from '../../../../tools/docs/rollback-table.ts'
import { assertContains } from '../../harness/process/sidecar.ts'
import { testsOf, WITHOUT_API } from '../../harness/test.ts'

const REGEXP = "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

type Refused = readonly [args: readonly string[], line: string]

/** Returns arguments with an invalid value of a flag, and the expected first line of the output. */
const invalid = (flag: string, value: string, reason = 'parse error'): Refused => [
  [`--${flag}=${value}`],
  `invalid value "${value}" for flag -${flag}: ${reason}`,
]
const notBoolean = (flag: string, value: string, reason = 'parse error'): Refused => [
  [`--${flag}=${value}`],
  `invalid boolean value "${value}" for -${flag}: ${reason}`,
]
const unknown = (argument: string): Refused => [
  [argument],
  `flag provided but not defined: -${argument.replace(/^-+|=.*/g, '')}`,
]
const notUint = (value: string, reason = 'invalid syntax'): string => `strconv.ParseUint: parsing "${value}": ${reason}`
const notBool = (value: string): string => `strconv.ParseBool: parsing "${value}": invalid syntax`
const badLabel = (value: string): Refused =>
  invalid('leader-election-labels', value, `malformed item in list of labels: ${value}`)

/** Invalid arguments, and the first line of the output. */
const REFUSED: readonly Refused[] = [
  ...['--nope', '-nope', '--nope=1', '-v5', '--csi-addr=x'].map(unknown),
  [['---x'], 'bad flag syntax: ---x'],
  [['-=x'], 'bad flag syntax: -=x'],
  [['--=x'], 'bad flag syntax: --=x'],
  [['--csi-address'], 'flag needs an argument: -csi-address'],
  [['-v'], 'flag needs an argument: -v'],
  ...['a', '', '1.5', '08'].map((value) => invalid('kube-api-burst', value)),
  invalid('kube-api-burst', '99999999999999999999', 'value out of range'),
  invalid('kube-api-qps', 'x'),
  invalid('kube-api-qps', '1e500', 'value out of range'),
  ...['60', '1d', '1M', '1m 30s', '', '9999999999h'].map((value) => invalid('timeout', value)),
  notBoolean('leader-election', 'yes'),
  notBoolean('version', ''),
  notBoolean('automaxprocs', 'x', notBool('x')),
  [['-v=-1'], `invalid value "-1" for flag -v: ${notUint('-1')}`],
  invalid('v', 'x', notUint('x')),
  [['--v', '0x5'], `invalid value "0x5" for flag -v: ${notUint('0x5')}`],
  invalid('v', '2147483648', notUint('2147483648', 'value out of range')),
  invalid('feature-gates', 'A', 'malformed pair, expect string=bool'),
  invalid('feature-gates', 'K=maybe', `invalid value of K: maybe, err: ${notBool('maybe')}`),
  ...['a=b', '', 'a:b:c'].map(badLabel),
  invalid('vmodule', 'foo', '"foo" does not have the pattern=N format'),
  invalid('vmodule', 'foo=x', `parsing verbosity in "foo=x": ${notUint('x')}`),
  invalid('log-json-info-buffer-size', 'x', `quantities must match the regular expression ${REGEXP}`),
  notBoolean('log-text-split-stream', 'x'),
  invalid('log-flush-frequency', 'x'),
  ...[
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
  ].map((flag) => unknown(`--${flag}=true`)),
]

const REFUSED_BY: Readonly<Record<'attacher' | 'resizer', readonly Refused[]>> = {
  attacher: [
    invalid('worker-threads', '-1'),
    invalid('worker-threads', '+1'),
    invalid('max-entries', 'x'),
    unknown('--extra-modify-metadata'),
    unknown('--handle-volume-inuse-error=false'),
  ],
  resizer: [
    invalid('workers', 'x'),
    invalid('resize-timeout', '5'),
    unknown('--reconcile-sync=1m'),
    unknown('--default-fstype=ext4'),
  ],
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
  test('invalid arguments end the sidecar with the error, the usage and exit code 2', async (t) => {
    for (const [args, line] of [...REFUSED, ...REFUSED_BY[app]]) {
      const { code, stdout, stderr, binary } = await t.exec(args)
      const [first, second, ...usage] = stderr.split('\n')
      equal(
        { args, code, stdout, first, second },
        { args, code: 2, stdout: '', first: line, second: `Usage of ${binary}:` },
      )
      ok(usage.length > 40, 'the full usage follows')
    }
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
