import type { DriverCapabilities } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  NodeServiceCapability_RPC_Type as NodeRpc,
  PluginCapability_Service_Type as PluginService,
} from '@csi-sidecars/csi-proto'
import {
  type CapabilityQuestion,
  type ConnectionFailures,
  type HandshakeTable,
  StartError,
} from '@csi-sidecars/sidecar'

/** The time limits of the questions at the start, in milliseconds. */
export interface HandshakeLimits {
  readonly probeMs: number
  /** The deadline of expansions, and of the questions whether the driver expands volumes. */
  readonly resizeTimeoutMs: number
  /** The deadline of modifications, and of the question whether the driver modifies volumes. */
  readonly modifyTimeoutMs: number
}

/** Returns the first calls of the resizer to its driver. */
export function handshakeOf(limits: HandshakeLimits): HandshakeTable {
  return {
    limits: { probeMs: limits.probeMs, nameMs: limits.probeMs },
    failures: {
      first: connectionFailures('Failed to create CSI client'),
      migrated: () => connectionFailures('Failed to create MigratedCSI client'),
      name: { message: 'Get driver name failed' },
    },
    questions: () => questions(limits),
    decisiveCapabilities: {
      plugin: [PluginService.CONTROLLER_SERVICE],
      controller: [ControllerRpc.EXPAND_VOLUME, ControllerRpc.MODIFY_VOLUME],
      node: [NodeRpc.EXPAND_VOLUME],
    },
    metricsNameDriverFrom: 'capabilities',
  }
}

function connectionFailures(message: string): ConnectionFailures {
  return {
    connect: { message, during: 'failed to connect to CSI driver' },
    probe: { message, during: 'failed probing CSI driver' },
  }
}

/**
 * Returns the calls that ask for capabilities. Resize and modify ask separately, each with a separate deadline, because
 * users rely on the calls and error texts of the Go resizer. NodeGetCapabilities is called only if the controller
 * cannot expand volumes.
 */
function questions({ resizeTimeoutMs, modifyTimeoutMs }: HandshakeLimits): readonly CapabilityQuestion[] {
  const resize = 'Failed to create CSI resizer'
  const noService = new Error('CSI driver does not support controller service')
  const check = (ability: string, service = 'controller'): string =>
    `failed to check if plugin supports ${ability}: error getting ${service} capabilities`
  return [
    {
      capabilitiesOf: 'plugin',
      limitMs: resizeTimeoutMs,
      failure: { message: resize, during: check('controller service') },
      startError: ({ controllerService }) =>
        controllerService ? undefined : new StartError(resize, { cause: noService }),
    },
    {
      capabilitiesOf: 'controller',
      when: ({ controllerService }) => controllerService,
      limitMs: resizeTimeoutMs,
      failure: { message: resize, during: check('controller resize') },
    },
    {
      capabilitiesOf: 'controller',
      when: expands,
      limitMs: resizeTimeoutMs,
      failure: { message: resize, during: check('the SINGLE_NODE_MULTI_WRITER capability') },
    },
    {
      capabilitiesOf: 'node',
      when: (capabilities) => capabilities.controllerService && !expands(capabilities),
      limitMs: resizeTimeoutMs,
      failure: { message: resize, during: check('node resize', 'node') },
    },
    {
      capabilitiesOf: 'controller',
      limitMs: modifyTimeoutMs,
      failure: { message: 'Failed to create CSI modifier', during: check('controller modify') },
    },
  ]
}

function expands({ controller }: DriverCapabilities): boolean {
  return controller.has(ControllerRpc.EXPAND_VOLUME)
}
