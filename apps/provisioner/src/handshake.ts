import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  PluginCapability_Service_Type as PluginService,
} from '@csi-sidecars/csi-proto'
import type { CapabilityQuestion, ConnectionFailures, HandshakeTable } from '@csi-sidecars/sidecar'

const CONNECTION: ConnectionFailures = {
  connect: { message: 'Failed to connect to the CSI driver' },
  probe: { message: 'Failed to probe the CSI driver' },
}

/** How the provisioner identifies its driver. All steps share the time limit of --timeout. */
export function handshakeOf({ timeout }: { readonly timeout: number }): HandshakeTable {
  const failure = {
    message: 'Failed to get the capabilities of the CSI driver',
    during: 'Error getting CSI driver capabilities',
  }
  const question = (about: 'plugin' | 'controller'): CapabilityQuestion => ({ about, limitMs: timeout, failure })
  return {
    limits: { probeMs: timeout, nameMs: timeout },
    failures: {
      first: CONNECTION,
      migrated: () => CONNECTION,
      name: { message: 'Failed to get the name of the CSI driver', during: 'Error getting CSI driver name' },
    },
    // A plugin without a controller service is asked for its controller too, as by the Go original.
    questions: () => [question('plugin'), question('controller')],
    decisive: {
      plugin: [PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS],
      controller: [ControllerRpc.PUBLISH_UNPUBLISH_VOLUME],
    },
    namedFrom: 'name',
  }
}
