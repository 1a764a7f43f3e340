import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { ORIGINAL_FLAGS } from '../../../../tools/docs/rollback-table.ts'
import { assertContains } from '../../harness/process/sidecar.ts'
import { testsOf, WITHOUT_API } from '../../harness/test.ts'
import { startsOf } from '../../rows/starts.ts'

/** Invalid arguments: one of each kind. `go-flags.test.ts` has all texts that a kind of flag refuses. */
const REFUSED: readonly string[] = [
  '--nope',
  '-v5',
  '--csi-addr=x',
  '---x',
  '--csi-address',
  '--kube-api-burst=a',
  '--kube-api-qps=1e500',
  '--timeout=60',
  '--leader-election=yes',
  '--automaxprocs=x',
  '-v=-1',
  '--feature-gates=K=maybe',
  '--leader-election-labels=a=b',
  '--vmodule=foo=x',
  '--log-json-info-buffer-size=x',
  // klog had this flag until Kubernetes 1.26.
  '--logtostderr=true',
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

/** Valid arguments. `--version` ends the process after all arguments are parsed. */
const ACCEPTED: readonly string[] = [
  '--kube-api-burst=0x10',
  '--kube-api-burst=010',
  '--kube-api-burst=1_000',
  ...['--kube-api-burst', '-5'],
  '--kube-api-qps=0x1p-2',
  '--kube-api-qps=inf',
  '--timeout=-1.5h3us4µs5μs6ns',
  ...['--timeout', '1h2m3s'],
  ...['-v', '3'],
  '-v=2147483647',
  '--feature-gates=',
  '--feature-gates=WatchList=true,AllBeta=false',
  '--feature-gates=ReleaseLeaderElectionOnExit = T',
  '--leader-election-labels=a:b,c:d',
  '--automaxprocs',
  '--metrics-address=:1',
  '--http-endpoint=:2',
  '--kubeconfig=/nonexistent',
  '--retry-interval-start=2m',
  '--retry-interval-max=1m',
]

const ACCEPTED_BY: Readonly<Record<'attacher' | 'resizer', readonly string[]>> = {
  attacher: [
    '--worker-threads=0',
    '--max-entries=-1',
    '--max-grpc-log-length=-1',
    '--resync=0',
    '--reconcile-sync=10m',
    '--default-fstype=',
  ],
  resizer: [
    '--workers=-1',
    '--resize-timeout=1m',
    '--modify-timeout=1m',
    '--extra-modify-metadata',
    '--handle-volume-inuse-error=false',
    '--master=http://x',
    '--resync-period=1m',
    '--feature-gates=Nope=true',
  ],
}

/** What may follow valid arguments. Lines in JSON exclude `--vmodule`. */
const ENDS: readonly (readonly string[])[] = [
  ['--vmodule=a=1,b*=2', '--version=false', '--version'],
  ['--logging-format=json', '--version=T', 'junk', '--nonsense'],
  ['--version', '--', '--nonsense'],
]

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'command line', WITHOUT_API)
  startsOf(
    app,
    'command line',
    import.meta.filename,
  )('invalid arguments end the sidecar with the error, the usage and exit code 2', {
    starts: [...REFUSED, ...REFUSED_BY[app]].map((flag) => ({ args: [flag] })),
    differs: ['command-line-help'],
  })

  test('the whole usage follows an invalid argument', async (t) => {
    const { stderr } = await t.exec(['--nope'])
    ok(stderr.split('\n').length > 40, stderr)
  })

  test('--version with valid arguments prints only the version to stdout and exits with 0', async (t) => {
    for (const end of ENDS) {
      const args = [...ACCEPTED, ...ACCEPTED_BY[app], ...end]
      const { code, stdout, binary } = await t.exec(args)
      equal({ args, code }, { args, code: 0 })
      ok(stdout.startsWith(`${binary} `) && /^v?\d+\.\d+\.\d+\S*\n$/.test(stdout.slice(binary.length + 1)), stdout)
    }
  })

  test('--help prints the usage with every flag to stderr and exits with 0', async (t) => {
    for (const help of ['-h', '--help=true']) {
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
