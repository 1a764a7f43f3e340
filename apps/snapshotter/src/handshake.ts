import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import { type HandshakeTable, StartError, sentence } from '@csi-sidecars/sidecar'
import { UNQUOTED } from '@csi-sidecars/telemetry'

/** The first calls to the driver after a connection. As in the Go snapshotter, the name comes before the Probe. */
export function handshakeOf({ timeout }: { readonly timeout: number }): HandshakeTable {
  return {
    limits: { probeMs: timeout, nameMs: timeout },
    failures: {
      first: {
        connect: { message: sentence('error connecting to CSI driver') },
        probe: { message: sentence('error waiting for CSI driver to be ready') },
      },
      name: { message: sentence('error getting CSI driver name') },
    },
    questions: (driver) => [
      {
        capabilitiesOf: 'controller',
        limitMs: timeout,
        failure: { message: sentence('error determining if driver supports create/delete snapshot operations') },
        startError: ({ controller }) =>
          controller.has(ControllerRpc.CREATE_DELETE_SNAPSHOT)
            ? undefined
            : refusal(`CSI driver ${driver} does not support ControllerCreateSnapshot`),
      },
    ],
    decisiveCapabilities: { controller: [ControllerRpc.CREATE_DELETE_SNAPSHOT] },
    metricsNameDriverFrom: 'name',
    readsNameBeforeProbe: true,
  }
}

/** Returns an error whose message is logged without quotes. The process ends with exit code 1. */
export function refusal(message: string): StartError {
  return new StartError(message, { pairs: UNQUOTED })
}
