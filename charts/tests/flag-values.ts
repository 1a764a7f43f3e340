import { type CombinedApp, type FlagTable, type GateTable, STANDARD_FLAGS } from '@csi-sidecars/sidecar'
import { APPS, type AppName, SIDECARS } from '@csi-sidecars/sidecars'

export { APPS, type AppName }

function each<T>(of: (app: CombinedApp) => T): Readonly<Record<AppName, T>> {
  return Object.fromEntries(SIDECARS.map(({ app, value }) => [app, of(value)])) as Record<AppName, T>
}

export const FLAG_TABLES: Readonly<Record<AppName, FlagTable>> = each(({ flags }) => [...STANDARD_FLAGS, ...flags])

export const GATES: Readonly<Record<AppName, GateTable>> = each(({ gates }) => gates)

/** Where the chart's values set a flag, and one value with what it is rendered as. */
export interface FlagValue {
  /** `APP` stands for the sidecar's name. */
  readonly key: string
  readonly value: unknown
  readonly text: string
}

const own = (key: string, value: unknown, text = String(value)): FlagValue => ({ key: `APP.${key}`, value, text })
const shared = (key: string, value: unknown, text = String(value)): FlagValue => ({ key, value, text })

const STANDARD: Readonly<Record<string, FlagValue>> = {
  'authorization-always-allow-paths': shared('authorization.alwaysAllowPaths', ['/livez', '/a/*'], '/livez,/a/*'),
  'authorize-metrics': shared('authorization.enabled', true),
  'client-ca-file': shared('tls.clientCA.key', 'clients.crt', '/etc/csi-sidecars-client-ca/clients.crt'),
  'csi-address': shared('socketDir.fileName', 'other.sock', '/csi/other.sock'),
  'drain-timeout': own('drainTimeout', '31s'),
  'driver-grace-period': own('driverGracePeriod', '32s'),
  'enable-otel-tracing': shared('tracing.enabled', true),
  'enable-profiling': shared('profiling.enabled', true),
  'feature-gates': own(
    'featureGates',
    { ReleaseLeaderElectionOnExit: false, AllBeta: true },
    'AllBeta=true,ReleaseLeaderElectionOnExit=false',
  ),
  'http-endpoint': own('metricsPort', 9000, ':9000'),
  'kube-api-burst': own('kubeAPIBurst', 2000000),
  'kube-api-qps': own('kubeAPIQPS', 12.5),
  kubeconfig: shared('kubeconfigSecret.name', 'guest', '/etc/csi-sidecars/kubeconfig'),
  'leader-election': shared('leaderElection.enabled', true),
  'leader-election-labels': shared('leaderElection.labels', { tier: '1', team: 'storage' }, 'team:storage,tier:1'),
  'leader-election-lease-duration': shared('leaderElection.leaseDuration', '33s'),
  'leader-election-namespace': shared('leaderElection.namespace', 'leases'),
  'leader-election-renew-deadline': shared('leaderElection.renewDeadline', '22s'),
  'leader-election-retry-period': shared('leaderElection.retryPeriod', '3s'),
  'log-backlog-interval': shared('logging.backlogInterval', '45s'),
  'logging-format': shared('logging.format', 'text'),
  'metrics-path': shared('metrics.path', '/other'),
  'on-driver-loss': own('onDriverLoss', 'exit'),
  'on-lease-loss': own('onLeaseLoss', 'exit'),
  'profiling-address': own('profilingPort', 6070, '127.0.0.1:6070'),
  'retry-interval-max': own('retryIntervalMax', '34s'),
  'retry-interval-start': own('retryIntervalStart', '35ms'),
  'tls-cert-file': shared('tls.certKey', 'server.crt', '/etc/csi-sidecars-tls/server.crt'),
  'tls-cipher-suites': shared(
    'tls.cipherSuites',
    ['TLS_AES_128_GCM_SHA256', 'TLS_RSA_WITH_AES_128_CBC_SHA'],
    'TLS_AES_128_GCM_SHA256,TLS_RSA_WITH_AES_128_CBC_SHA',
  ),
  'tls-min-version': shared('tls.minVersion', 'VersionTLS13'),
  'tls-private-key-file': shared('tls.privateKeyKey', 'server.key', '/etc/csi-sidecars-tls/server.key'),
  'tls-self-signed': shared('tls.enabled', true),
  v: own('logLevel', 0),
  vmodule: shared('logging.vmodule', 'watch*=4,reconcile=5'),
}

export const FLAG_VALUES: Readonly<Record<AppName, Readonly<Record<string, FlagValue>>>> = {
  attacher: {
    ...STANDARD,
    'default-fstype': own('defaultFsType', 'xfs'),
    'max-entries': own('maxEntries', 0),
    'max-grpc-log-length': own('maxGrpcLogLength', -1),
    'max-inflight-per-node': own('maxInflightPerNode', 4),
    'reconcile-confirmations': own('reconcileConfirmations', 3),
    'reconcile-sync': own('reconcileSync', '1.5h'),
    'recover-lost-volumes': own('recoverLostVolumes', true),
    resync: own('resync', '0s'),
    timeout: own('timeout', '36s'),
    'worker-threads': own('workerThreads', 1200),
  },
  resizer: {
    ...STANDARD,
    'extra-modify-metadata': own('extraModifyMetadata', true),
    'handle-volume-inuse-error': own('handleVolumeInUseError', false),
    master: own('master', 'https://api.example.com'),
    'modify-timeout': own('modifyTimeout', '37s'),
    'resize-timeout': own('resizeTimeout', '38s'),
    'resync-period': own('resyncPeriod', '39m'),
    timeout: own('timeout', '36s'),
    workers: own('workers', 7),
  },
}

/** Flags that only additionalArgs passes, with the reason. */
export const NOT_IN_VALUES: Readonly<Record<string, string>> = {
  automaxprocs: 'without effect',
  'log-flush-frequency': 'without effect',
  'log-json-info-buffer-size': 'any value but the default is refused',
  'log-json-split-stream': 'any value but the default is refused',
  'log-text-info-buffer-size': 'any value but the default is refused',
  'log-text-split-stream': 'any value but the default is refused',
  'metrics-address': 'deprecated twin of --http-endpoint',
  version: 'prints and exits',
}

/** The key of the chart's values for a flag. */
export function valueKey(app: AppName, flag: string): string | undefined {
  return FLAG_VALUES[app][flag]?.key.replace('APP', app)
}
