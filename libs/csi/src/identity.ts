import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  NodeServiceCapability_RPC_Type as NodeRpc,
  PluginCapability_Service_Type as PluginService,
} from '@csi-sidecars/csi-proto'
import type { DriverCapabilities } from './capabilities.ts'

/** Who answered on a connection. */
export interface DriverIdentity {
  readonly name: string
  readonly capabilities: DriverCapabilities
}

/** Capabilities by which the app has chosen what to run. */
export interface Decisive {
  readonly plugin?: readonly PluginService[]
  readonly controller?: readonly ControllerRpc[]
  readonly node?: readonly NodeRpc[]
}

/**
 * Why the driver that came back cannot take the place of the one before; undefined when it can. A capability gained
 * counts as much as one lost: a driver that can attach now must not be served by the handler that only pretends to.
 */
export function whyIncompatible(
  before: DriverIdentity,
  after: DriverIdentity,
  { plugin = [], controller = [], node = [] }: Decisive = {},
): string | undefined {
  if (after.name !== before.name) return `CSI driver ${before.name} came back under another name: ${after.name}`
  const [had, has] = [before.capabilities, after.capabilities]
  const changes = [
    ...changesOf(plugin, { of: 'plugin', names: PluginService, had: had.plugin.services, has: has.plugin.services }),
    ...changesOf(controller, { of: 'controller', names: ControllerRpc, had: had.controller, has: has.controller }),
    ...changesOf(node, { of: 'node', names: NodeRpc, had: had.node, has: has.node }),
  ]
  return changes.length === 0 ? undefined : `CSI driver ${before.name} came back ${changes.join(' and ')}`
}

interface Sets {
  /** The owner of the capabilities. A controller and a node have some capabilities of the same name. */
  readonly of: 'plugin' | 'controller' | 'node'
  readonly names: Readonly<Record<string, number>>
  readonly had: ReadonlySet<number> | undefined
  readonly has: ReadonlySet<number> | undefined
}

function changesOf(decisive: readonly number[], { of, names, had, has }: Sets): string[] {
  return decisive.flatMap((capability) => {
    const [before, after] = [had?.has(capability) ?? false, has?.has(capability) ?? false]
    if (before === after) return []
    const name = Object.keys(names).find((key) => names[key] === capability) ?? String(capability)
    const text = `the ${of} capability ${name}`
    return [before ? `without ${text}` : `with ${text}, which it did not have`]
  })
}
