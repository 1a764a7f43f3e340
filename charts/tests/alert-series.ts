/** Sample series for the rules of files/alerts.yaml, in the notation of `promtool test rules`, one sample a minute. */

type Labels = Readonly<Record<string, string>>
/**
 * One input series of a promtool test. `values` has one sample for each minute, in promtool's notation such as `1x60`.
 */
export interface Series {
  readonly series: string
  readonly values: string
}

/** Series that make one alert of the chart fire, and the expected alert. */
export interface AlertCase {
  readonly alert: string
  /** Minutes from the first sample until the alert fires. */
  readonly after: number
  readonly fires: readonly Series[]
  /** The labels of the firing alert without `severity`, and its summary. */
  readonly labels: Labels
  readonly summary: string
  /** Similar series for which the alert must not fire. */
  readonly quiet: readonly Series[]
}

const POD = 'demo-csi-sidecars-controller-5d4f8c7b9f-x2x9z'
const STANDBY = 'demo-csi-sidecars-controller-5d4f8c7b9f-a1b2c'
const OF_POD = { namespace: 'storage', container: 'csi-attacher', pod: POD }
const OF_APP = { namespace: 'storage', container: 'csi-attacher' }
const DRIVER = { driver_name: 'example.csi.k8s.io' }

function series(metric: string, values: string, labels: Labels = {}): Series {
  const all = Object.entries({ ...OF_POD, ...labels }).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  return { series: `${metric}{${all.join(',')}}`, values }
}

const leads = (first: number, second: number, labels: Labels = {}): Series[] => [
  series('leader_election_master_status', `${first}x60`, labels),
  series('leader_election_master_status', `${second}x60`, { ...labels, pod: STANDBY }),
]
/** The series of a combined process: `name` is the Lease of one of its sidecars. */
const OF_LEASE = { container: 'csi-sidecars', name: 'external-resizer-example-csi-k8s-io' }
const OTHER_LEASE = { ...OF_LEASE, name: 'external-attacher-leader-example-csi-k8s-io' }
const CALLS = 'csi_sidecar_operations_seconds_count'
const CALL = { ...DRIVER, method_name: '/csi.v1.Controller/ControllerPublishVolume' }
const calls = (code: string, eachMinute: number): Series =>
  series(CALLS, `0+${eachMinute}x60`, { ...CALL, grpc_status_code: code })
const QUEUE = { name: 'csi-attacher-va' }
const requests = (code: string, eachMinute: number): Series =>
  series('rest_client_requests_total', `0+${eachMinute}x60`, { code, method: 'PATCH' })
const limiter = (secondsEachMinute: number): Series[] => [
  series('rest_client_rate_limiter_duration_seconds_sum', `0+${secondsEachMinute}x60`),
  series('rest_client_rate_limiter_duration_seconds_count', '0+60x60'),
]
const oldest = (operation: string, seconds: number): Series =>
  series('csi_sidecar_pending_work_oldest_seconds', `${seconds}x60`, { ...DRIVER, operation, reason: 'Internal' })
const stuck = (reason: string): Series =>
  series('csi_sidecar_stuck_work', '2x60', { ...DRIVER, operation: 'detach', reason })
const started = (container: string): Series => series('process_start_time_seconds', '1x60', { container })
const unreferenced = (reason: string, count: number, scope = 'cluster'): Series =>
  series('csi_sidecar_unreferenced_volumes', `${count}x1500`, { ...DRIVER, reason, scope })
const OF_DRIVER = { namespace: 'storage', ...DRIVER }

export const ALERT_CASES: readonly AlertCase[] = [
  {
    alert: 'CSISidecarHasNoLeader',
    after: 2,
    fires: leads(0, 0),
    labels: OF_APP,
    summary: 'No replica of csi-attacher holds the lease, so none of its work is done.',
    quiet: leads(0, 1),
  },
  {
    alert: 'CSISidecarHasNoLeader',
    after: 2,
    fires: [...leads(0, 0, OF_LEASE), ...leads(1, 0, OTHER_LEASE)],
    labels: { ...OF_APP, ...OF_LEASE },
    summary: 'No replica of csi-sidecars holds the lease, so none of its work is done.',
    quiet: [...leads(0, 1, OF_LEASE), ...leads(1, 0, OTHER_LEASE)],
  },
  {
    alert: 'CSISidecarHasTwoLeaders',
    after: 2,
    fires: leads(1, 1),
    labels: OF_APP,
    summary: 'More than one replica of csi-attacher believes that it leads.',
    quiet: [...leads(1, 0), ...leads(1, 0, OF_LEASE), ...leads(1, 0, OTHER_LEASE)],
  },
  {
    alert: 'CSISidecarRestarts',
    after: 4,
    fires: [series('process_start_time_seconds', '1 2 3 4 5')],
    labels: OF_POD,
    summary: `csi-attacher of ${POD} has started 4 times in an hour.`,
    quiet: [series('process_start_time_seconds', '1 2 3 4 4')],
  },
  {
    alert: 'CSISidecarCallsFail',
    after: 16,
    fires: [calls('Internal', 6), calls('OK', 4)],
    labels: { namespace: 'storage', ...CALL },
    summary: 'Most calls of /csi.v1.Controller/ControllerPublishVolume to example.csi.k8s.io fail.',
    quiet: [calls('Internal', 4), calls('OK', 6)],
  },
  {
    alert: 'CSISidecarCallsAreSlow',
    after: 16,
    fires: [calls('DeadlineExceeded', 2), calls('OK', 8)],
    labels: { namespace: 'storage', ...CALL },
    summary:
      'More than one in ten calls of /csi.v1.Controller/ControllerPublishVolume to example.csi.k8s.io are not answered in time.',
    quiet: [calls('DeadlineExceeded', 1), calls('OK', 19)],
  },
  {
    alert: 'CSISidecarBacklog',
    after: 15,
    fires: [series('workqueue_depth', '101x60', QUEUE)],
    labels: { ...OF_APP, ...QUEUE },
    summary: '101 objects wait in queue csi-attacher-va of csi-attacher.',
    quiet: [series('workqueue_depth', '100x60', QUEUE)],
  },
  {
    alert: 'CSISidecarWorkIsStuck',
    after: 5,
    fires: [series('workqueue_longest_running_processor_seconds', '930x60', QUEUE)],
    labels: { ...OF_POD, ...QUEUE },
    summary: 'One object of queue csi-attacher-va has been worked on for 15m 30s.',
    quiet: [series('workqueue_longest_running_processor_seconds', '900x60', QUEUE)],
  },
  {
    alert: 'CSISidecarRetriesMuch',
    after: 38,
    fires: [series('workqueue_retries_total', '0+120x60', QUEUE)],
    labels: { ...OF_APP, ...QUEUE },
    summary: 'Queue csi-attacher-va of csi-attacher retries 2 objects a second.',
    quiet: [series('workqueue_retries_total', '0+54x60', QUEUE)],
  },
  {
    alert: 'CSISidecarIsRefusedByTheAPIServer',
    after: 31,
    fires: [requests('403', 60)],
    labels: { ...OF_APP, code: '403', method: 'PATCH' },
    summary: 'The API server answers 403 to PATCH requests of csi-attacher.',
    quiet: [requests('403', 1), requests('409', 60)],
  },
  {
    alert: 'CSISidecarWaitsForItsOwnRateLimit',
    after: 16,
    fires: limiter(180),
    labels: OF_APP,
    summary: 'Requests of csi-attacher wait 3s before they are sent.',
    quiet: limiter(60),
  },
  {
    alert: 'CSISidecarStandsStill',
    after: 10,
    fires: [series('nodejs_eventloop_lag_max_seconds', '2.5x60')],
    labels: OF_POD,
    summary: `csi-attacher of ${POD} answers up to 2.5s late.`,
    quiet: [series('nodejs_eventloop_lag_max_seconds', '1.9x60')],
  },
  {
    alert: 'CSISidecarIsNotThere',
    after: 5,
    fires: [started('csi-resizer')],
    labels: OF_APP,
    summary: 'No csi-attacher of this release is there, or none is scraped.',
    quiet: [started('csi-resizer'), started('csi-attacher')],
  },
  {
    alert: 'CSISidecarAttachesWait',
    after: 2,
    fires: [oldest('attach', 330)],
    labels: { ...OF_DRIVER, reason: 'Internal' },
    summary: 'The oldest attach of example.csi.k8s.io has waited 5m 30s for Internal.',
    quiet: [oldest('attach', 300), oldest('detach', 599)],
  },
  {
    alert: 'CSISidecarDetachesWait',
    after: 2,
    fires: [oldest('detach', 630)],
    labels: { ...OF_DRIVER, reason: 'Internal' },
    summary: 'A volume of example.csi.k8s.io has been detaching for 10m 30s, because of Internal.',
    quiet: [oldest('detach', 600), oldest('attach', 630)],
  },
  {
    alert: 'CSISidecarDetachIsBlocked',
    after: 5,
    fires: [stuck('PersistentVolumeMissing')],
    labels: OF_DRIVER,
    summary: '2 detaches of example.csi.k8s.io are blocked, because their PersistentVolumes are gone.',
    quiet: [stuck('Internal')],
  },
  {
    alert: 'CSISidecarClaimsWait',
    after: 5,
    fires: [oldest('modify', 1860)],
    labels: { ...OF_DRIVER, operation: 'modify', reason: 'Internal' },
    summary: 'The oldest modify of example.csi.k8s.io has waited 31m 0s for Internal.',
    quiet: [oldest('expand', 1800), oldest('attach', 1860)],
  },
  {
    alert: 'CSISidecarProvisionsWait',
    after: 2,
    fires: [oldest('provision', 330)],
    labels: { ...OF_DRIVER, reason: 'Internal' },
    summary: 'The oldest claim without a volume of example.csi.k8s.io has waited 5m 30s for Internal.',
    quiet: [oldest('provision', 300), oldest('expand', 330)],
  },
  {
    alert: 'CSISidecarDeletionsWait',
    after: 5,
    fires: [oldest('delete-snapshot', 1860)],
    labels: { ...OF_DRIVER, operation: 'delete-snapshot', reason: 'Internal' },
    summary: 'The oldest delete-snapshot of example.csi.k8s.io has waited 31m 0s for Internal.',
    quiet: [oldest('delete', 1800), oldest('create-snapshot', 1860)],
  },
  {
    alert: 'CSISidecarSnapshotsWait',
    after: 5,
    fires: [oldest('create-snapshot', 1860)],
    labels: { ...OF_DRIVER, reason: 'Internal' },
    summary: 'The oldest snapshot of example.csi.k8s.io has waited 31m 0s for Internal.',
    quiet: [oldest('create-snapshot', 1800), oldest('delete-snapshot', 1860)],
  },
  {
    alert: 'CSISidecarVolumesAreUnreferenced',
    after: 1440,
    fires: [unreferenced('NoObject', 3), unreferenced('Released', 1)],
    labels: OF_DRIVER,
    summary: '4 volumes of example.csi.k8s.io cost storage, and no claim uses them.',
    quiet: [unreferenced('NoObject', 3, 'backend'), unreferenced('Released', 1, 'backend')],
  },
]
