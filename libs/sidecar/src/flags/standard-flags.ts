import { MINUTE, SECOND } from '@csi-sidecars/base'
import { Quantity } from '@csi-sidecars/kube-types'
import type { ChartKey, Flag } from './go-flags.ts'
import { SECURE_FLAGS } from './secure-flags.ts'

const NOTHING = Quantity.parse('0')
const REFUSED = 'Without effect: any value but the default ends the start with an error.'
const UNSET: ChartKey = { notInChartBecause: 'any value but the default is refused' }

/** The flags of every sidecar. Names, types and defaults never change. */
export const STANDARD_FLAGS = [
  {
    name: 'automaxprocs',
    type: 'switch',
    default: false,
    help: 'Accepted and without effect: this program uses one CPU, and little of it.',
    chart: { notInChartBecause: 'without effect' },
  },
  {
    name: 'csi-address',
    type: 'string',
    default: '/run/csi/socket',
    help: "Path of the CSI driver's socket, `/path` or unix:///path. No other kind of address is possible.",
    chart: {
      key: 'socketDir.fileName',
      testValue: 'other.sock',
      testArgument: '/csi/other.sock',
      template: 'handwritten',
    },
  },
  {
    name: 'drain-timeout',
    type: 'duration',
    default: 25 * SECOND,
    help:
      'After SIGTERM, how long running CSI calls may continue and save their results before they are cancelled. ' +
      "Keep it below the pod's terminationGracePeriodSeconds.",
    chart: { key: 'drainTimeout', testValue: '31s' },
  },
  {
    name: 'driver-grace-period',
    type: 'duration',
    default: 30 * SECOND,
    help:
      'How long a leader waits for a disconnected CSI driver before it releases the lease, so that a replica with a ' +
      'working driver takes over.',
    chart: { key: 'driverGracePeriod', testValue: '32s' },
  },
  {
    name: 'enable-otel-tracing',
    type: 'bool',
    default: false,
    help:
      'Send a trace of each attach, detach, expansion and modification to an OpenTelemetry collector, and the header ' +
      'traceparent to driver and API server. The OTEL_* environment variables configure it.',
    chart: { key: 'tracing.enabled', testValue: true, template: 'handwritten' },
  },
  {
    name: 'feature-gates',
    type: 'gates',
    default: new Map<string, boolean>(),
    help: 'Comma-separated Gate=true|false pairs.',
    chart: {
      key: 'featureGates',
      testValue: { ReleaseLeaderElectionOnExit: false, AllBeta: true },
      testArgument: 'AllBeta=true,ReleaseLeaderElectionOnExit=false',
    },
  },
  {
    name: 'http-endpoint',
    type: 'string',
    default: '',
    help:
      'Address to serve metrics, /livez, /readyz, /healthz/leader-election and /debug/stuck on (example: `:8080`). Empty: no server. ' +
      'Excludes --metrics-address.',
    chart: { key: 'metricsPort', testValue: 9000, testArgument: ':9000', template: 'handwritten' },
  },
  {
    name: 'kube-api-burst',
    type: 'int',
    default: 10,
    help:
      'Requests that may exceed --kube-api-qps for a moment. With neither of the two flags, the rate follows what the ' +
      'API server grants.',
    chart: { key: 'kubeAPIBurst', testValue: 2000000, minimum: 1 },
  },
  {
    name: 'kube-api-qps',
    type: 'float',
    default: 5,
    help:
      'Requests a second to the API server. 0 means 5, a negative number means unlimited. With neither this flag nor ' +
      '--kube-api-burst, the rate follows what the API server grants.',
    chart: { key: 'kubeAPIQPS', testValue: 12.5 },
  },
  {
    name: 'kubeconfig',
    type: 'string',
    default: '',
    help: "Path of a kubeconfig file. Empty: the pod's service account.",
    chart: {
      key: 'kubeconfigSecret.name',
      testValue: 'guest',
      testArgument: '/etc/csi-sidecars/kubeconfig',
      template: 'handwritten',
    },
  },
  {
    name: 'leader-election',
    type: 'bool',
    default: false,
    help: 'Work only while holding the lease. Needed wherever more than one replica runs.',
    chart: { key: 'leaderElection.enabled', testValue: true },
  },
  {
    name: 'leader-election-labels',
    type: 'labels',
    default: new Map<string, string>(),
    help: 'Labels for the Lease: key:value,key:value.',
    chart: {
      key: 'leaderElection.labels',
      testValue: { tier: '1', team: 'storage' },
      testArgument: 'team:storage,tier:1',
    },
  },
  {
    name: 'leader-election-lease-duration',
    type: 'duration',
    default: 15 * SECOND,
    help: 'How long after its last renewal a lease stays valid. Longer than --leader-election-renew-deadline.',
    chart: { key: 'leaderElection.leaseDuration', testValue: '33s' },
  },
  {
    name: 'leader-election-namespace',
    type: 'string',
    default: '',
    help: "Namespace of the Lease. Empty: the pod's own.",
    chart: { key: 'leaderElection.namespace', testValue: 'leases' },
  },
  {
    name: 'leader-election-renew-deadline',
    type: 'duration',
    default: 10 * SECOND,
    help: 'How long a leader tries to renew before it stops working. Longer than 1.2 x --leader-election-retry-period.',
    chart: { key: 'leaderElection.renewDeadline', testValue: '22s' },
  },
  {
    name: 'leader-election-retry-period',
    type: 'duration',
    default: 5 * SECOND,
    help: 'Pause between two attempts to take or renew the lease.',
    chart: { key: 'leaderElection.retryPeriod', testValue: '3s' },
  },
  {
    name: 'log-backlog-interval',
    type: 'duration',
    default: 30 * SECOND,
    help: 'How often the log gets the depth of each queue while it is not empty. 0: never.',
    chart: { key: 'logging.backlogInterval', testValue: '45s' },
  },
  {
    name: 'log-flush-frequency',
    type: 'duration',
    default: 5 * SECOND,
    help: 'Accepted if greater than zero, without effect: nothing is buffered.',
    chart: { notInChartBecause: 'without effect' },
  },
  { name: 'log-json-info-buffer-size', type: 'quantity', default: NOTHING, help: REFUSED, chart: UNSET },
  { name: 'log-json-split-stream', type: 'bool', default: false, help: REFUSED, chart: UNSET },
  { name: 'log-text-info-buffer-size', type: 'quantity', default: NOTHING, help: REFUSED, chart: UNSET },
  { name: 'log-text-split-stream', type: 'bool', default: false, help: REFUSED, chart: UNSET },
  {
    name: 'logging-format',
    type: 'string',
    default: 'text',
    help: 'text or json. Logs go to standard error in both.',
    chart: { key: 'logging.format', testValue: 'text' },
  },
  {
    name: 'metrics-address',
    type: 'string',
    default: '',
    help: 'Deprecated: as --http-endpoint, with metrics only (example: `:8080`).',
    chart: { notInChartBecause: 'deprecated twin of --http-endpoint' },
  },
  {
    name: 'metrics-path',
    type: 'string',
    default: '/metrics',
    help: 'Path of the metrics.',
    chart: { key: 'metrics.path', testValue: '/other' },
  },
  {
    name: 'on-driver-loss',
    type: 'choice',
    choices: ['reconnect', 'exit'],
    default: 'reconnect',
    help:
      'What to do when the connection to the CSI driver is lost. reconnect: pause work until the driver is back, and ' +
      'check that it is the same driver. exit: write the termination log and exit with code 1.',
    chart: { key: 'onDriverLoss', testValue: 'exit' },
  },
  {
    name: 'on-lease-loss',
    type: 'choice',
    choices: ['standby', 'exit'],
    default: 'standby',
    help:
      'What to do when the lease is lost. standby: cancel running work, keep the caches, and compete for the lease ' +
      'again. exit: exit with code 1.',
    chart: { key: 'onLeaseLoss', testValue: 'exit' },
  },
  {
    name: 'retry-interval-max',
    type: 'duration',
    default: 5 * MINUTE,
    help: 'Longest pause between two attempts for one object.',
    chart: { key: 'retryIntervalMax', testValue: '34s' },
  },
  {
    name: 'retry-interval-start',
    type: 'duration',
    default: SECOND,
    help: 'Pause after the first failure of an object. Doubles with each further one, up to --retry-interval-max.',
    chart: { key: 'retryIntervalStart', testValue: '35ms' },
  },
  {
    name: 'v',
    type: 'level',
    default: 0,
    help: 'Verbosity. 2 logs each result, 4 each step, 5 each CSI call with its content, secrets removed.',
    chart: { key: 'logLevel', testValue: 0, template: 'handwritten' },
  },
  {
    name: 'version',
    type: 'bool',
    default: false,
    help: 'Print the version and exit.',
    chart: { notInChartBecause: 'prints and exits' },
  },
  {
    name: 'vmodule',
    type: 'vmodule',
    default: [],
    help: 'Verbosity of single source files: pattern=N,... Works with the text format only.',
    chart: { key: 'logging.vmodule', testValue: 'watch*=4,reconcile=5' },
  },
  ...SECURE_FLAGS,
] as const satisfies readonly Flag[]

export const LOGGING_FLAGS: readonly string[] = STANDARD_FLAGS.map(({ name }) => name)
  .filter((name) => /^log(?:ging)?-/.test(name) || name === 'v' || name === 'vmodule')
  .filter((name) => name !== 'log-backlog-interval')
