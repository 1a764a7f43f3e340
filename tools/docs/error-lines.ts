import type { LogLine } from './log-lines.ts'

const NOTHING = 'Nothing.'
const REPORT = 'A fault in the sidecar: please report it with the line.'

/** Warnings and error lines of a running sidecar, most pressing first. `source-texts.ts` finds them; a test compares. */
export const ERROR_LINES: readonly LogLine[] = [
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
    action: 'Look at the driver, if it goes on.',
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
    means: 'Something on the way swallows what is sent on old connections. They are opened again at once.',
    action: 'If it repeats: load balancers, NAT tables and proxies between here and the API server.',
  },
  {
    message: 'Error retrieving or updating lease lock',
    means: 'The API server did not answer, or refused, a request about the lease.',
    action: 'If it says forbidden: the role in the namespace of the lease. Otherwise the API server.',
  },
  {
    message: 'Failed to release lease',
    means: 'On its way out the sidecar could not free the lease.',
    action: 'Nothing: the next leader waits for the lease to expire.',
  },
  {
    message: 'Error syncing PVC',
    means: 'One try for a claim failed; `err` says why. It is tried again.',
    action: 'Alert on a claim that repeats, not on the line. Events of the claim tell the same to its owner.',
  },
  {
    message: 'PVC cannot be resized',
    means: 'What the claim asks for contradicts itself or cannot be understood. Not tried again until it changes.',
    action: 'Look at the claim and its PersistentVolume.',
  },
  {
    message:
      'VolumeAttachment attached status and actual state do not match. Adding back to VolumeAttachment queue for forced reprocessing',
    means:
      'The driver lists a volume as attached or detached, in `--reconcile-confirmations` listings, and the API says otherwise.',
    action: 'Somebody attaches or detaches behind the back of Kubernetes. The attacher sets it right.',
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
    means: 'The PersistentVolume could not be let go; tried again.',
    action: 'If it says forbidden: the `patch` verb on persistentvolumes.',
  },
  {
    message: 'Error saving VolumeAttachment as attached',
    means: 'For a driver that does not attach, the attachment could not be marked; tried again.',
    action: 'If it says forbidden: `patch` on volumeattachments/status.',
  },
  {
    message: 'Pods may not be read: whether a volume is in use is left to the driver at each retry',
    means: 'The role lacks pods. Volumes that cannot be expanded in use are tried again and again.',
    action: 'Grant `list` and `watch` on pods, or set `--handle-volume-inuse-error=false`.',
  },
  {
    message:
      'external-resizer may be running with older version of kubernetes api-server, please upgrade to k8s version 1.32',
    means:
      'The PersistentVolume has the size already, but the status of its claim does not say how far the expansion is: an API server that does not know those fields leaves a claim like this.',
    action: 'Upgrade the API server. The expansion goes on all the same.',
  },
  {
    message: 'Failed to list',
    means: 'A cache could not be filled; tried again with growing pauses.',
    action: 'If it says forbidden: the role. Otherwise the API server.',
  },
  {
    message: 'Unable to rotate token',
    means: 'The file of the service account could not be read; the old token is used on.',
    action: 'Look at the pod if it goes on: the token expires in the end.',
  },
  {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as it stands in the source
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
    means:
      'The role of the attacher lacks events. Said once; tried again every ten minutes. Nothing else depends on it.',
    action: 'Grant `create` and `patch` on events, if the events are wanted.',
  },
  {
    message: 'Too many events are waiting, event dropped',
    means: 'More happens than the API server takes events.',
    action: NOTHING,
  },
  {
    message: 'Ignoring an object that cannot be understood',
    means: 'An object in the API is not formed as its kind should be; it is left alone.',
    action: 'Look at the object that the line names.',
  },
  {
    message: 'The termination message could not be written',
    means: 'The kubelet does not get the reason for the end of the process.',
    action: NOTHING,
  },
  {
    message: 'Controller failed, it starts again after a pause',
    means: 'A fault of ours in one of several controllers of a process; `sidecar` says which. The others go on.',
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
    means: 'What replaced `--tls-cert-file` or `--tls-private-key-file` cannot be used; `err` says why. Told once.',
    action: 'Put a certificate there with its own key. It is looked at every five seconds.',
  },
  {
    message: 'Failed to load the CA bundle, the one before stays',
    means: 'What replaced `--client-ca-file` cannot be read, or holds no certificate. Told once.',
    action: 'Mend the bundle. It is looked at every five seconds.',
  },
  {
    message: 'Failed to make a certificate, the one before stays',
    means: 'With `--tls-self-signed`, half a year after the last one.',
    action: REPORT,
  },
  {
    message: 'Requests to the HTTP endpoint cannot be reviewed',
    means:
      'With `--authorize-metrics`: the API server is away, or refuses to say. Scrapers get 503, probes are answered. ' +
      'Told once, until it says so again.',
    action: 'If it says forbidden: `create` on tokenreviews and subjectaccessreviews. Otherwise the API server.',
  },
  {
    message: '--authorize-metrics without TLS: tokens come over plain HTTP',
    means: 'Whoever can listen on the way from the scraper can use its token.',
    action: 'Give a certificate, unless something in front of the port has one.',
  },
  { message: 'HTTP request failed', means: 'An answer to a scraper or a probe could not be given.', action: NOTHING },
  { message: 'Cache stopped', means: 'A cache ended, so the process ends.', action: REPORT },
  { message: 'Informer handler failed', means: 'A change of an object was not taken in.', action: REPORT },
  {
    message: 'Listener of CSI driver events failed',
    means: 'A part did not hear that the driver left or came.',
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
    action: 'Correct it and start the sidecar anew. Work goes on without traces.',
  },
  {
    message: 'Spans could not be exported',
    means: 'The collector of traces is away, or refuses them. Told once a minute; work is not held up.',
    action: 'Look at the collector; `csi_sidecar_spans_dropped_total` counts what is lost.',
  },
]
