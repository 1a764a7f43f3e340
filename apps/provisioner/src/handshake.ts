import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  PluginCapability_Service_Type as PluginService,
} from '@csi-sidecars/csi-proto'
import {
  type CapabilityQuestion,
  type ConnectionFailures,
  FATAL,
  type HandshakeTable,
  sentence,
} from '@csi-sidecars/sidecar'

const CONNECTION: ConnectionFailures = {
  connect: { message: { sentence: (causeText) => causeText } },
  probe: { message: { sentence: (causeText) => causeText } },
}

/** The first calls to the driver after a connection. Each call is limited by `--timeout`. */
export function handshakeOf({ timeout }: { readonly timeout: number }): HandshakeTable {
  const failure = { message: sentence('Error getting CSI driver capabilities', FATAL) }
  const question = (capabilitiesOf: 'plugin' | 'controller'): CapabilityQuestion => ({
    capabilitiesOf,
    limitMs: timeout,
    failure,
  })
  return {
    limits: { probeMs: timeout, nameMs: timeout },
    failures: {
      first: CONNECTION,
      migrated: () => CONNECTION,
      name: { message: sentence('Error getting CSI driver name', FATAL) },
    },
    // The Go provisioner also asks a driver without a controller service for its controller capabilities.
    questions: () => [question('plugin'), question('controller')],
    decisiveCapabilities: {
      plugin: [PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS],
      controller: [ControllerRpc.PUBLISH_UNPUBLISH_VOLUME],
    },
    metricsNameDriverFrom: 'name',
  }
}
