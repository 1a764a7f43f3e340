import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import { type HandshakeTable, StartError } from '@csi-sidecars/sidecar'

/** The first calls to the driver after a connection. As in the Go original, the name comes before the Probe. */
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
        about: 'controller',
        limitMs: timeout,
        failure: { message: sentence('error determining if driver supports create/delete snapshot operations') },
        startError: ({ controller }) =>
          controller.has(ControllerRpc.CREATE_DELETE_SNAPSHOT)
            ? undefined
            : new StartError(`CSI driver ${driver} does not support ControllerCreateSnapshot`),
      },
    ],
    decisive: { controller: [ControllerRpc.CREATE_DELETE_SNAPSHOT] },
    namedFrom: 'name',
    nameFirst: true,
  }
}

/** Formats a failure at the start as the Go original does: a sentence that ends with the cause. */
export function sentence(what: string): { sentence(cause: string): string } {
  return { sentence: (cause) => `${what}: ${cause}` }
}
