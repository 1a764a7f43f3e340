import type { LogLine } from './log-lines.ts'

const NOTHING = 'Nothing.'
const REPORT = 'A fault in the sidecar: please report it with the line.'

/** The warnings and error lines of a running sidecar, the most urgent first. A test compares them with the sources. */
export const ERROR_LINES: readonly LogLine[] = [
  {
    message: 'Failed to establish connection to CSI driver',
    means: 'The livenessprobe: no connection to the driver within `--livenessprobe-probe-timeout`.',
    action: 'As below.',
  },
  {
    message: 'Health check failed',
    means: 'The livenessprobe: the driver answered Probe with an error, or not in time.',
    action: 'Look at the driver. If this continues, the kubelet restarts its container.',
  },
  {
    message: 'Driver responded but is not ready',
    means: 'The livenessprobe: the driver says so itself.',
    action: 'As above.',
  },
  {
    message: 'Lost connection',
    means: 'The driver closed its socket, or died.',
    action: 'Look at the driver. With `--on-driver-loss=reconnect` work waits; `/readyz` fails meanwhile.',
  },
  {
    message: 'Lost connection to CSI driver, exiting',
    means: 'The same, with `--on-driver-loss=exit`.',
    action: 'The kubelet restarts the container. Look at the driver.',
  },
  {
    message: 'Failed to reconnect to the CSI driver',
    means: 'The driver is still away, or answers badly. Tried again each second at the longest.',
    action: 'Look at the driver, if it continues.',
  },
  {
    message: 'CSI driver is gone for longer than the grace period, releasing the lease',
    means: 'Another replica, whose driver may be alive, takes over.',
    action: 'Look at the driver beside this replica.',
  },
  {
    message: 'CSI driver has changed',
    means: 'Another driver, or one with other capabilities, answers on the socket. The sidecar ends and starts again.',
    action: 'Nothing after an upgrade of the driver; otherwise see who owns the socket.',
  },
  {
    message: 'Stopped leading',
    means: 'The lease was lost: it could not be renewed in time.',
    action: 'Look for slow or failing writes of Leases: API server, etcd, CPU limits of this container.',
  },
  {
    message: 'No answer from the API server, closing the connections that are older than the request',
    means: 'The network drops what is sent on old connections. They are opened again at once.',
    action: 'If it repeats: load balancers, NAT tables and proxies between here and the API server.',
  },
  {
    message: 'The API server limits requests',
    means:
      'It refuses some of the requests with 429, mostly by API Priority and Fairness: `refused` of them in the last ten seconds. At most `inFlight` are sent at a time now, unless flags give the rate; what was refused is sent again.',
    action:
      'If it stays: give the sidecar a priority level with more shares or with queues, and see who else uses that level.',
  },
  {
    message: 'Error retrieving or updating lease lock',
    means: 'The API server did not answer, or refused, a request about the lease.',
    action: 'The API server.',
  },
  {
    message: 'Failed to release lease',
    means: 'The sidecar could not release the lease while it was ending.',
    action: 'Nothing: the next leader waits for the lease to expire.',
  },
  {
    message: 'Error syncing PVC',
    means: 'One try for a claim failed; `err` says why. It is tried again.',
    action: 'Alert on a claim that repeats, not on the line. Events of the claim have the same message for its owner.',
  },
  {
    message: 'PVC cannot be resized',
    means: 'The request of the claim is contradictory or invalid. Not retried until it changes.',
    action: 'Look at the claim and its PersistentVolume.',
  },
  {
    message:
      'VolumeAttachment attached status and actual state do not match. Adding back to VolumeAttachment queue for forced reprocessing',
    means:
      'The driver lists a volume as attached or detached, in `--reconcile-confirmations` listings, and the API says otherwise.',
    action: 'Another program attaches or detaches without Kubernetes. The attacher corrects it.',
  },
  {
    message: 'VolumeAttributesClass is for another driver',
    means: 'A claim asks for a class whose `driverName` is not the driver of its volume. It is applied nevertheless.',
    action: 'Name a class of the driver in the claim. An event of the claim names both drivers.',
  },
  {
    message: 'VolumeAttachment cannot be compared with the driver',
    means: 'The attachment names a volume or a node that is not there.',
    action: 'Look at that VolumeAttachment; it is likely to be stuck as well.',
  },
  {
    message: 'Failed to reconcile VolumeAttachment',
    means: 'The driver did not list its volumes. The comparison is tried again after `--reconcile-sync`.',
    action: 'Raise `--timeout` if pages take long, or set `--max-entries`.',
  },
  {
    message: 'Failed to remove finalizer from PersistentVolume',
    means: 'The finalizer could not be removed; tried again.',
    action: 'If it says forbidden: the `patch` verb on persistentvolumes.',
  },
  {
    message: 'Error saving VolumeAttachment as attached',
    means: 'For a driver that does not attach, the attachment could not be marked; tried again.',
    action: 'If it says forbidden: `patch` on volumeattachments/status.',
  },
  {
    message:
      'external-resizer may be running with older version of kubernetes api-server, please upgrade to k8s version 1.32',
    means:
      'The PersistentVolume has the size already, but the status of its claim does not say how far the expansion is: an API server that does not know those fields leaves a claim like this.',
    action: 'Upgrade the API server. The expansion continues.',
  },
  {
    message: 'A permission is missing: add this rule to the role of the service account',
    means:
      'The API server refuses a request of the sidecar, often after an upgrade. Work that does not need the permission continues. Logged at most every ten minutes.',
    action:
      'Add `rule` to the ClusterRole, or to the Role of the namespace that `rule` names. The sidecar notices it without a restart. `kubectl csi stuck`, `missingPermissions` of `/debug/stuck` and the metric `csi_sidecar_missing_permission` show the same. Without pods, set `--handle-volume-inuse-error=false` instead.',
  },
  {
    message: 'Failed to list',
    means: 'A cache could not be filled; tried again with growing pauses.',
    action: 'The API server.',
  },
  {
    message: 'Unable to rotate token',
    means: 'The file of the service account could not be read; the old token stays in use.',
    action: 'Look at the pod if it continues: the token expires in the end.',
  },
  {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as in the source
    message: 'Expected to load root CA config from ${file}, but got err: ${messageOf(error)}',
    means: 'The pod has no certificate of the cluster; Node.js falls back on its own list.',
    action: 'Mount the service account as a whole.',
  },
  {
    message: 'Failed to check VolumeAttributesClass V1 API availability',
    means: 'At the start the API server did not say what it serves; modification stays on.',
    action: NOTHING,
  },
  {
    message: 'Server rejected event (will not retry!)',
    means: 'An event was refused, mostly for a missing right. Nothing else depends on it.',
    action: 'Grant `create` and `patch` on events, also in the namespace of the lease.',
  },
  {
    message: 'Events about attaching and detaching may not be written',
    means: 'The role of the attacher lacks events. Logged once; retried every ten minutes. Nothing else depends on it.',
    action: 'Grant `create` and `patch` on events, if the events are wanted.',
  },
  {
    message: 'Too many events are waiting, event dropped',
    means: 'Events occur faster than the API server accepts them.',
    action: NOTHING,
  },
  {
    message: 'Ignoring an object that cannot be understood',
    means: 'An object in the API does not match the schema of its kind. The sidecar ignores it.',
    action: 'Look at the object that the line names.',
  },
  {
    message: 'The termination message could not be written',
    means: 'The kubelet does not get the reason for the end of the process.',
    action: NOTHING,
  },
  {
    message: 'Controller failed, it starts again after a pause',
    means: 'A fault of ours in one of several controllers of a process; `sidecar` says which. The others continue.',
    action: 'Nothing at once: it starts again after ten seconds. Report it with the line.',
  },
  {
    message: 'A lease of another sidecar is held: two may act for the same volumes',
    means: 'With `--single-lease`: a Go original or a single sidecar leads for the same driver.',
    action: 'End the other one, or take `--single-lease` away.',
  },
  { message: 'Closing failed', means: 'Something did not end in time while the process was ending.', action: NOTHING },
  {
    message: 'Failed to load the cert/key pair, the one before stays',
    means: 'What replaced `--tls-cert-file` or `--tls-private-key-file` cannot be used. `err` says why. Logged once.',
    action: 'Put a certificate there with its own key. It is read every five seconds.',
  },
  {
    message: 'Failed to load the CA bundle, the one before stays',
    means: 'What replaced `--client-ca-file` cannot be read, or holds no certificate. Logged once.',
    action: 'Correct the bundle. It is read every five seconds.',
  },
  {
    message: 'Failed to make a certificate, the one before stays',
    means: 'With `--tls-self-signed`, half a year after the last one.',
    action: REPORT,
  },
  {
    message: 'Requests to the HTTP endpoint cannot be reviewed',
    means:
      'With `--authorize-metrics`: the API server is unreachable, or refuses the review. Scrapers get 503, probes are answered. ' +
      'Logged once, until reviews work again.',
    action: 'If it says forbidden: `create` on tokenreviews and subjectaccessreviews. Otherwise the API server.',
  },
  {
    message: '--authorize-metrics without TLS: tokens come over plain HTTP',
    means: 'A token that is intercepted between the scraper and this endpoint can be used.',
    action: 'Give a certificate, unless something in front of the port has one.',
  },
  {
    message: 'The memory limit is too low: the sidecar will be slow, and read from disk all the time',
    means: 'The control group grants less than `needed`, to which come `neededPerThousandObjects`.',
    action: 'Raise the memory limit: [Sizing](operations.md#sizing).',
  },
  { message: 'HTTP request failed', means: 'An answer to a scraper or a probe could not be given.', action: NOTHING },
  { message: 'Cache stopped', means: 'A cache ended, so the process ends.', action: REPORT },
  { message: 'Informer handler failed', means: 'A change of an object was not taken in.', action: REPORT },
  {
    message: 'Listener of CSI driver events failed',
    means: 'A part of the sidecar missed that the driver disconnected or returned.',
    action: REPORT,
  },
  {
    message: 'Reconnecting to the CSI driver has ended',
    means: 'The sidecar no longer waits for its driver.',
    action: REPORT,
  },
  { message: 'Unexpected failure', means: 'The process ends with exit code 1.', action: REPORT },
  {
    message: 'Tracing is off',
    means: 'With `--enable-otel-tracing`: the variable of the line `variable` cannot be followed, `err` says why.',
    action: 'Correct it and restart the sidecar. It works without traces.',
  },
  {
    message: 'Spans could not be exported',
    means: 'The collector of traces is unreachable, or refuses them. Logged once a minute; work is not blocked.',
    action: 'Look at the collector; `csi_sidecar_spans_dropped_total` counts what is lost.',
  },
]
