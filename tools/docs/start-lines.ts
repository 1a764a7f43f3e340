import type { LogLine } from './log-lines.ts'

/** The error lines that end the start of a sidecar. The exit code is 1 unless the row says otherwise. */
export const START_LINES: readonly LogLine[] = [
  {
    message: 'Failed to establish connection to CSI driver',
    means: 'The livenessprobe: `--csi-address` is no unix socket.',
    action: 'Correct the address.',
  },
  {
    message: 'Failed to get CSI driver name',
    means: 'The livenessprobe: GetPluginInfo failed or named nothing.',
    action: 'Look at the log of the driver.',
  },
  {
    message: 'Failed to start http server',
    means:
      'The livenessprobe cannot listen; often another one runs in the pod. Alone it ends with code 0, as its original.',
    action: 'Remove the container of the original, or set `--livenessprobe-health-port`.',
  },
  {
    message: 'Failed to start prometheus metrics endpoint on specified address and path',
    means: 'The same, for its `--metrics-address`.',
    action: 'As above.',
  },
  {
    message: 'Only one of `--health-port` and `--http-endpoint` can be explicitly set',
    means: 'Both flags of the livenessprobe are given.',
    action: 'Remove one.',
  },
  {
    message: 'Only one of `--metrics-address` and `--http-endpoint` can be explicitly set',
    means: 'The same.',
    action: 'Remove one.',
  },
  {
    message: 'Failed to connect to the CSI driver',
    means: 'No driver on the socket within 30 seconds (attacher).',
    action:
      'Compare `--csi-address` with the endpoint of the driver, and the mounts of both containers. `EACCES`: the user of the sidecar may not write to the socket.',
  },
  { message: 'Failed to create CSI client', means: 'The same, or a failed Probe (resizer).', action: 'As above.' },
  {
    message: 'Failed to create MigratedCSI client',
    means: 'The same, on the second connection for drivers with an in-tree ancestor.',
    action: 'As above.',
  },
  {
    message: 'Failed to probe the CSI driver',
    means: 'Probe answered with an error.',
    action: 'Look at the log of the driver.',
  },
  {
    message: 'Failed to get the CSI driver name',
    means: 'GetPluginInfo failed or named nothing (attacher).',
    action: 'Look at the log of the driver.',
  },
  {
    message: 'Failed to get the capabilities of the CSI driver',
    means: 'A capability call failed (both in one process).',
    action: 'Look at the log of the driver.',
  },
  { message: 'Get driver name failed', means: 'The same (resizer).', action: 'Look at the log of the driver.' },
  {
    message: 'Failed to check if the CSI Driver supports the CONTROLLER_SERVICE',
    means: 'GetPluginCapabilities failed or took over a second.',
    action: 'Look at the log of the driver.',
  },
  {
    message: 'Failed to controller capability check',
    means: 'ControllerGetCapabilities failed or took over a second.',
    action: 'Look at the log of the driver.',
  },
  {
    message: 'Failed to create CSI resizer',
    means: 'A capability call failed, or the driver has no controller service.',
    action: 'Such a driver needs no resizer.',
  },
  {
    message: 'Failed to create CSI modifier',
    means: 'ControllerGetCapabilities failed when asked for modifications, or took longer than their time-out.',
    action: 'Look at the log of the driver, and at `--modify-timeout`.',
  },
  {
    message: 'CSI driver does not support resize nor modify',
    means: 'Nothing to do for this driver; exit code 255.',
    action: 'Leave the resizer out.',
  },
  {
    message: 'Failed to build a Kubernetes config',
    means: 'No kubeconfig, and not in a pod (attacher).',
    action: 'Give `--kubeconfig`, or mount the service account.',
  },
  { message: 'Failed to create cluster config', means: 'The same (resizer).', action: 'As above.' },
  {
    message: 'Failed to create a Clientset',
    means:
      'A burst of 0 with a rate; a server that is no URL; authority or certificate data that cannot be read; ' +
      'an authority together with insecure-skip-tls-verify (attacher).',
    action: 'Set `--kube-api-burst`, or mend the kubeconfig: `err` says which.',
  },
  {
    message: 'Failed to create a Kubernetes client',
    means: 'The same (both in one process).',
    action: 'As above.',
  },
  { message: 'Failed to create kube client', means: 'The same (resizer).', action: 'As above.' },
  {
    message: 'Failed to start HTTP server at specified address and metrics path',
    means: 'The address cannot be listened on (attacher).',
    action: 'Is the port taken by another container of the pod?',
  },
  { message: 'Failed to start HTTP server', means: 'The same (resizer).', action: 'As above.' },
  {
    message: 'failed to store flag gates',
    means: 'A feature gate that the attacher does not know.',
    action: 'Remove it, or see the table of gates.',
  },
  { message: 'Failed to set feature gates', means: 'The same for the resizer.', action: 'As above.' },
  {
    message: 'Only one of `--metrics-address` and `--http-endpoint` can be set',
    means: 'Both are (attacher; the resizer says it with a full stop).',
    action: 'Keep `--http-endpoint`.',
  },
  {
    message: 'Secure serving configuration is invalid',
    means: 'Flags of TLS or authorization that do not fit together, or files that cannot be used.',
    action:
      '`err` says which. [Secure the HTTP endpoint](operations.md#secure-the-http-endpoint) has what belongs together.',
  },
  { message: 'Option -worker-threads must be greater than zero', means: 'It is 0.', action: 'Raise it.' },
  { message: 'LoggingConfiguration is invalid', means: '`err` says which flag.', action: 'Correct it.' },
  {
    message: 'Leader election timings are impossible',
    means: '`err` says which; exit code 2.',
    action: 'lease duration > renew deadline > 1.2 x retry period.',
  },
]

/** Messages that the table has in another form: without the full stop. */
export const SAID_ELSEWHERE = ['Only one of `--metrics-address` and `--http-endpoint` can be set.']
