import type { HistogramSpec, MetricSpec } from './metrics.ts'

/**
 * The names, help texts, labels and buckets that dashboards and alerts depend on. Do not change them, even the odd
 * ones.
 */

/** The duration of a call to the driver. `migrated` is set only for drivers that replace an in-tree plugin. */
export const CSI_OPERATIONS_SECONDS = {
  name: 'csi_sidecar_operations_seconds',
  help: '[ALPHA] Container Storage Interface operation duration with gRPC error code status total',
  labels: ['driver_name', 'method_name', 'grpc_status_code', 'migrated'],
  buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
} as const satisfies HistogramSpec<string>

/** Powers of ten, with the rounding errors of the repeated multiplication in Go. */
const QUEUE_BUCKETS = [1e-8, 1e-7, 1e-6, 9.999999999999999e-6, 9.999999999999999e-5, 0.001, 0.01, 0.1, 1, 10]

export const WORKQUEUE_DEPTH = {
  name: 'workqueue_depth',
  help: '[BETA] Current depth of workqueue',
  labels: ['name'],
} as const satisfies MetricSpec<string>

export const WORKQUEUE_ADDS_TOTAL = {
  name: 'workqueue_adds_total',
  help: '[BETA] Total number of adds handled by workqueue',
  labels: ['name'],
} as const satisfies MetricSpec<string>

export const WORKQUEUE_RETRIES_TOTAL = {
  name: 'workqueue_retries_total',
  help: '[BETA] Total number of retries handled by workqueue',
  labels: ['name'],
} as const satisfies MetricSpec<string>

export const WORKQUEUE_QUEUE_DURATION_SECONDS = {
  name: 'workqueue_queue_duration_seconds',
  help: '[BETA] How long in seconds an item stays in workqueue before being requested.',
  labels: ['name'],
  buckets: QUEUE_BUCKETS,
} as const satisfies HistogramSpec<string>

export const WORKQUEUE_WORK_DURATION_SECONDS = {
  name: 'workqueue_work_duration_seconds',
  help: '[BETA] How long in seconds processing an item from workqueue takes.',
  labels: ['name'],
  buckets: QUEUE_BUCKETS,
} as const satisfies HistogramSpec<string>

export const WORKQUEUE_UNFINISHED_WORK_SECONDS = {
  name: 'workqueue_unfinished_work_seconds',
  help:
    "[BETA] How many seconds of work has done that is in progress and hasn't been observed by work_duration. " +
    'Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which ' +
    'this increases.',
  labels: ['name'],
} as const satisfies MetricSpec<string>

export const WORKQUEUE_LONGEST_RUNNING_PROCESSOR_SECONDS = {
  name: 'workqueue_longest_running_processor_seconds',
  help: '[BETA] How many seconds has the longest running processor for workqueue been running.',
  labels: ['name'],
} as const satisfies MetricSpec<string>

const LEASE_NOTE = "'name' is the string used to identify the lease. Please make sure to group by name."

/** The label `name` is the empty string, because the Go sidecars never set it. */
export const LEADER_ELECTION_MASTER_STATUS = {
  name: 'leader_election_master_status',
  help:
    '[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates ' +
    `master. ${LEASE_NOTE}`,
  labels: ['name'],
} as const satisfies MetricSpec<string>

export const LEADER_ELECTION_SLOWPATH_TOTAL = {
  name: 'leader_election_slowpath_total',
  help: `[ALPHA] Total number of slow path exercised in renewing leader leases. ${LEASE_NOTE}`,
  labels: ['name'],
} as const satisfies MetricSpec<string>

const REQUEST_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60]
const REQUEST_BYTES = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216]

export const REST_CLIENT_REQUEST_DURATION_SECONDS = {
  name: 'rest_client_request_duration_seconds',
  help: '[ALPHA] Request latency in seconds. Broken down by verb, and host.',
  labels: ['verb', 'host'],
  buckets: REQUEST_SECONDS,
} as const satisfies HistogramSpec<string>

export const REST_CLIENT_RATE_LIMITER_DURATION_SECONDS = {
  name: 'rest_client_rate_limiter_duration_seconds',
  help: '[ALPHA] Client side rate limiter latency in seconds. Broken down by verb, and host.',
  labels: ['verb', 'host'],
  buckets: REQUEST_SECONDS,
} as const satisfies HistogramSpec<string>

export const REST_CLIENT_REQUEST_SIZE_BYTES = {
  name: 'rest_client_request_size_bytes',
  help: '[ALPHA] Request size in bytes. Broken down by verb and host.',
  labels: ['verb', 'host'],
  buckets: REQUEST_BYTES,
} as const satisfies HistogramSpec<string>

export const REST_CLIENT_RESPONSE_SIZE_BYTES = {
  name: 'rest_client_response_size_bytes',
  help: '[ALPHA] Response size in bytes. Broken down by verb and host.',
  labels: ['verb', 'host'],
  buckets: REQUEST_BYTES,
} as const satisfies HistogramSpec<string>

export const REST_CLIENT_REQUESTS_TOTAL = {
  name: 'rest_client_requests_total',
  help: '[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.',
  labels: ['code', 'method', 'host'],
} as const satisfies MetricSpec<string>

export const REST_CLIENT_REQUEST_RETRIES_TOTAL = {
  name: 'rest_client_request_retries_total',
  help: '[ALPHA] Number of request retries, partitioned by status code, verb, and host.',
  labels: ['code', 'verb', 'host'],
} as const satisfies MetricSpec<string>

/** The limit of parallel requests. The Go sidecars have no such metric. */
export const API_IN_FLIGHT_LIMIT = {
  name: 'csi_sidecar_api_in_flight_limit',
  help:
    '[ALPHA] Requests to the API server that may run at a time at present: halved when it refuses one with 429, one more ' +
    'with each round of successes. Not with --kube-api-qps or --kube-api-burst.',
  labels: [],
} as const satisfies MetricSpec<string>

/** The limit of parallel runs that call the driver. The Go sidecars have no such metric. */
export const DRIVER_IN_FLIGHT_LIMIT = {
  name: 'csi_sidecar_driver_in_flight_limit',
  help:
    '[ALPHA] Objects of a queue that may be worked on at a time at present: halved when the calls of many end as ' +
    'ResourceExhausted, DeadlineExceeded or Aborted, one more with each round of successes.',
  labels: ['driver_name', 'name'],
} as const satisfies MetricSpec<string>

export const SPANS_EXPORTED_TOTAL = {
  name: 'csi_sidecar_spans_exported_total',
  help: '[ALPHA] Spans that the collector of traces has taken. Only with --enable-otel-tracing.',
  labels: [],
} as const satisfies MetricSpec<string>

export const SPANS_DROPPED_TOTAL = {
  name: 'csi_sidecar_spans_dropped_total',
  help:
    '[ALPHA] Spans that were thrown away: queue_full, because the collector was too slow or away; unreachable, after ' +
    'every try; rejected by the collector; shutdown. Only with --enable-otel-tracing.',
  labels: ['reason'],
} as const satisfies MetricSpec<string>

// Metrics of pending work, which the Go sidecars do not have. No label contains the name of an object.

export const PENDING_WORK = {
  name: 'csi_sidecar_pending_work',
  help: '[ALPHA] Objects with pending work, by operation, state and reason.',
  labels: ['driver_name', 'operation', 'state', 'reason'],
} as const satisfies MetricSpec<string>

export const PENDING_WORK_OLDEST_SECONDS = {
  name: 'csi_sidecar_pending_work_oldest_seconds',
  help: '[ALPHA] Age of the oldest of them, since the work became due.',
  labels: ['driver_name', 'operation', 'state', 'reason'],
} as const satisfies MetricSpec<string>

export const MISSING_PERMISSION = {
  name: 'csi_sidecar_missing_permission',
  help: '[ALPHA] 1 for each resource for which the role of the sidecar lacks a permission.',
  labels: ['resource'],
} as const satisfies MetricSpec<string>

export const STUCK_WORK = {
  name: 'csi_sidecar_stuck_work',
  help: '[ALPHA] Those that are older than two minutes, or that no retry helps.',
  labels: ['driver_name', 'operation', 'reason'],
} as const satisfies MetricSpec<string>

// Metrics of things in the back end, which the Go sidecars do not have. No label contains the name of an object.

const UNREFERENCED_LABELS = ['driver_name', 'reason', 'scope'] as const
const UNREFERENCED_NOTE =
  'NoObject: no object of the cluster names them. scope backend: those of other clusters count, too. Only the leader, ' +
  'after two listings of the driver.'

export const UNREFERENCED_VOLUMES = {
  name: 'csi_sidecar_unreferenced_volumes',
  help:
    `[ALPHA] Volumes of the back end that no claim uses. ${UNREFERENCED_NOTE} Released: their ` +
    'PersistentVolume has been Released for longer than a day.',
  labels: UNREFERENCED_LABELS,
} as const satisfies MetricSpec<string>

export const UNREFERENCED_VOLUMES_BYTES = {
  name: 'csi_sidecar_unreferenced_volumes_bytes',
  help: '[ALPHA] The size of these volumes, as far as the driver reports it.',
  labels: UNREFERENCED_LABELS,
} as const satisfies MetricSpec<string>

export const MISSING_VOLUMES = {
  name: 'csi_sidecar_missing_volumes',
  help: '[ALPHA] PersistentVolumes whose volume two listings of the driver in a row have not shown.',
  labels: ['driver_name'],
} as const satisfies MetricSpec<string>

export const UNREFERENCED_SNAPSHOTS = {
  name: 'csi_sidecar_unreferenced_snapshots',
  help: `[ALPHA] Snapshots of the back end without a VolumeSnapshotContent. ${UNREFERENCED_NOTE}`,
  labels: UNREFERENCED_LABELS,
} as const satisfies MetricSpec<string>

export const UNREFERENCED_SNAPSHOTS_BYTES = {
  name: 'csi_sidecar_unreferenced_snapshots_bytes',
  help: '[ALPHA] The size of these snapshots, as far as the driver reports it.',
  labels: UNREFERENCED_LABELS,
} as const satisfies MetricSpec<string>

export const MISSING_SNAPSHOTS = {
  name: 'csi_sidecar_missing_snapshots',
  help: '[ALPHA] VolumeSnapshotContents whose snapshot two listings of the driver in a row have not shown.',
  labels: ['driver_name'],
} as const satisfies MetricSpec<string>

const WORK_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600]

export const WORK_SECONDS = {
  name: 'csi_sidecar_work_duration_seconds',
  help:
    '[ALPHA] Time from when work became due until it was done: from the creation of a VolumeAttachment to attached, from its ' +
    'deletion to detached, from the raised request of a claim to the end of the controller or (node-expand) of the node.',
  labels: ['driver_name', 'operation'],
  buckets: WORK_BUCKETS,
} as const satisfies HistogramSpec<string>

export const WORK_WAIT_SECONDS = {
  name: 'csi_sidecar_work_wait_seconds',
  help: '[ALPHA] Time of it that passed before a worker took the object for the first time.',
  labels: ['driver_name', 'operation'],
  buckets: WORK_BUCKETS,
} as const satisfies HistogramSpec<string>

export const DRIVER_ANSWER_AGE_SECONDS = {
  name: 'csi_sidecar_driver_answer_age_seconds',
  help: '[ALPHA] Time since the CSI driver last answered a Probe. Only while /readyz is requested: its requests cause the Probes.',
  labels: ['driver_name'],
} as const satisfies MetricSpec<string>

export const EVENTS_SKIPPED_TOTAL = {
  name: 'csi_sidecar_events_skipped_total',
  help: '[ALPHA] Events about objects that fail which were due and were left out, because more were due than may be written.',
  labels: ['driver_name'],
} as const satisfies MetricSpec<string>
