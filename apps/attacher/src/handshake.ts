import { SECOND } from '@csi-sidecars/base'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  PluginCapability_Service_Type as PluginService,
} from '@csi-sidecars/csi-proto'
import type { HandshakeTable } from '@csi-sidecars/sidecar'

/** Describes the first calls to the driver. A driver without a controller service gets no ControllerGetCapabilities. */
export function handshakeOf(values: {
  readonly timeout: number
  readonly 'csi-address': string
  readonly 'max-grpc-log-length': number
}): HandshakeTable {
  const csiAddress = values['csi-address']
  return {
    limits: { probeMs: values.timeout, nameMs: SECOND, questionsMs: SECOND },
    failures: {
      first: {
        connect: { message: 'Failed to connect to the CSI driver', pairs: { csiAddress } },
        probe: { message: 'Failed to probe the CSI driver' },
      },
      migrated: (driver) => ({
        connect: { message: 'Failed to connect to the CSI driver', pairs: { driver, csiAddress, migrated: true } },
        probe: { message: 'Failed to probe the CSI driver', pairs: { driver, migrated: true } },
      }),
      name: { message: 'Failed to get the CSI driver name' },
    },
    questions: (driver) => [
      {
        capabilitiesOf: 'plugin',
        limitMs: SECOND,
        failure: { message: 'Failed to check if the CSI Driver supports the CONTROLLER_SERVICE', pairs: { driver } },
      },
      {
        capabilitiesOf: 'controller',
        when: ({ controllerService }) => controllerService,
        limitMs: SECOND,
        failure: { message: 'Failed to controller capability check', pairs: { driver } },
      },
    ],
    decisiveCapabilities: {
      plugin: [PluginService.CONTROLLER_SERVICE],
      controller: [
        ControllerRpc.PUBLISH_UNPUBLISH_VOLUME,
        ControllerRpc.LIST_VOLUMES,
        ControllerRpc.LIST_VOLUMES_PUBLISHED_NODES,
      ],
    },
    metricsNameDriverFrom: 'name',
    maxLogLength: values['max-grpc-log-length'],
  }
}
