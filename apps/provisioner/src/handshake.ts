import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  PluginCapability_Service_Type as PluginService,
} from '@csi-sidecars/csi-proto'
import type { CapabilityQuestion, ConnectionFailures, HandshakeTable, SentenceFailure } from '@csi-sidecars/sidecar'

/** The exit code of a fatal line of the Go original. */
export const FATAL = 255

/** The Go original logs these failures as fatal sentences, which end with the cause. */
export function sentence(what: string): SentenceFailure {
  return { sentence: (cause) => `${what}: ${cause}`, exitCode: FATAL }
}

const CONNECTION: ConnectionFailures = {
  connect: { message: { sentence: (cause) => cause } },
  probe: { message: { sentence: (cause) => cause } },
}

/** How the provisioner identifies its driver. Each call has the time limit of --timeout. */
export function handshakeOf({ timeout }: { readonly timeout: number }): HandshakeTable {
  const failure = { message: sentence('Error getting CSI driver capabilities') }
  const question = (about: 'plugin' | 'controller'): CapabilityQuestion => ({ about, limitMs: timeout, failure })
  return {
    limits: { probeMs: timeout, nameMs: timeout },
    failures: {
      first: CONNECTION,
      migrated: () => CONNECTION,
      name: { message: sentence('Error getting CSI driver name') },
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
