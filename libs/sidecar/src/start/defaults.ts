import type { ConnectionFailures, HandshakeTable } from '../driver/handshake-table.ts'
import type { StartOverrides, StartTable } from './app.ts'

/** The start of an app that has no Go original to follow, and of several apps in one process. */
export const DEFAULT_START: StartTable = {
  failures: {
    gates: 'Failed to set feature gates',
    addresses: 'Only one of `--metrics-address` and `--http-endpoint` can be set',
    config: 'Failed to build a Kubernetes config',
    client: 'Failed to create a Kubernetes client',
    endpoint: 'Failed to start HTTP server',
  },
  gatesFirst: false,
  logsGates: false,
  endpointFirst: false,
  namePairs: (driverName) => ({ driverName }),
  context: () => ({}),
}

const CONNECTION: ConnectionFailures = {
  connect: { message: 'Failed to connect to the CSI driver' },
  probe: { message: 'Failed to probe the CSI driver' },
}

const LIMIT_MS = 10_000

export const DEFAULT_HANDSHAKE: HandshakeTable = {
  limits: { probeMs: LIMIT_MS, nameMs: LIMIT_MS },
  failures: { first: CONNECTION, migrated: () => CONNECTION, name: { message: 'Failed to get the CSI driver name' } },
  questions: () => [
    {
      about: 'plugin',
      limitMs: LIMIT_MS,
      failure: { message: 'Failed to get the capabilities of the CSI driver', during: 'plugin capabilities' },
    },
  ],
  decisive: {},
  namedFrom: 'name',
}

export function startTable({ start }: { readonly start?: StartOverrides | undefined }): StartTable {
  return { ...DEFAULT_START, ...start, failures: { ...DEFAULT_START.failures, ...start?.failures } }
}

export function handshakeTable(table: Partial<HandshakeTable> = {}): HandshakeTable {
  return { ...DEFAULT_HANDSHAKE, ...table }
}
