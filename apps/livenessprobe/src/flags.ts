import { type Flag, LOGGING_FLAGS } from '@csi-sidecars/sidecar'

/** The flags in addition to the standard flags. Names, types and defaults are the same as in the Go livenessprobe. */
export const FLAGS = [
  {
    name: 'health-port',
    type: 'string',
    default: '9808',
    help:
      'Port on which /healthz is served, on all addresses, without metrics. Excludes the http-endpoint of the ' +
      'livenessprobe.',
    chart: { key: 'port', testValue: 9809, testArgument: '9809', template: 'handwritten' },
  },
  {
    name: 'probe-timeout',
    type: 'duration',
    default: 3_000,
    help: 'How long the CSI driver may take to answer a Probe, the connection to it included.',
    chart: { key: 'probeTimeout', testValue: '4s' },
  },
] as const satisfies readonly Flag[]

/** The flags of the livenessprobe's endpoint. In a combined process, the controllers listen on another endpoint. */
const ENDPOINT = ['http-endpoint', 'metrics-address', 'metrics-path']

export const USED_STANDARD_FLAGS = {
  needsPrefix: new Set(ENDPOINT),
  shared: new Set(['automaxprocs', 'csi-address', 'version', ...LOGGING_FLAGS]),
}
