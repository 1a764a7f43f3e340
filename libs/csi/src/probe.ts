import { type Clock, deadline, messageOf } from '@csi-sidecars/base'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  NodeServiceCapability_RPC_Type as NodeRpc,
  PluginCapability_Service_Type as PluginService,
  Probe,
} from '@csi-sidecars/csi-proto'
import type { Logger } from '@csi-sidecars/telemetry'
import type { DriverCapabilities } from './capabilities.ts'
import { type ConnectOptions, connect } from './connect.ts'
import type { Caller } from './connection.ts'
import { CODES, RpcError } from './errors/rpc-error.ts'

/** How to wait until a driver is ready. Without `signal` the wait has no end. */
export interface ProbeOptions {
  /** The time-out of each Probe call, in milliseconds. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly log: Logger
  readonly signal?: AbortSignal | undefined
}

/** How to ask a driver once whether it is ready. */
export interface ProbeOnceOptions extends ConnectOptions {
  /** The time-out of the connection and the call together, in milliseconds. */
  readonly timeoutMs: number
}

/** The name and the capabilities of a driver, which are compared after a reconnect. */
export interface DriverIdentity {
  readonly name: string
  readonly capabilities: DriverCapabilities
}

/** The capabilities by which the app has chosen its controllers. */
export interface DecisiveCapabilities {
  readonly plugin?: readonly PluginService[]
  readonly controller?: readonly ControllerRpc[]
  readonly node?: readonly NodeRpc[]
}

const PROBE_INTERVAL_MS = 1_000

/**
 * Calls Probe once a second until the driver is ready, without a limit, because a driver may start slowly. Throws if a
 * call fails for another reason than its time-out, or if the signal is aborted.
 */
export async function probe(driver: Caller, { timeoutMs, clock, log, signal }: ProbeOptions): Promise<void> {
  for (;;) {
    const start = clock.monotonic()
    log.info('Probing CSI driver for readiness')
    try {
      const { ready } = await driver.call(Probe, {}, { timeoutMs, signal })
      // The CSI specification says that a driver is ready if its answer does not contain `ready`.
      if (ready !== false) return
      log.info('CSI driver is not ready')
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof RpcError) || error.code !== CODES.DeadlineExceeded) {
        throw new Error(`CSI driver probe failed: ${messageOf(error)}`, { cause: error })
      }
      log.info('CSI driver probe timed out')
    }
    await clock.sleep(Math.max(0, start + PROBE_INTERVAL_MS - clock.monotonic()), signal)
  }
}

/**
 * Calls Probe once on a new connection, so that a blocked connection does not affect the result. Returns whether the
 * driver is ready. Throws ConnectError if the connection fails, and RpcError if the call fails.
 */
export async function probeOnce(options: ProbeOnceOptions): Promise<boolean> {
  const { clock, timeoutMs } = options
  const end = clock.monotonic() + timeoutMs
  using limit = deadline(clock, timeoutMs, { operation: 'probing the CSI driver', signal: options.signal })
  const { signal } = limit
  const connection = await connect({ ...options, signal })
  try {
    const { ready } = await connection.call(Probe, {}, { timeoutMs: end - clock.monotonic(), signal })
    return ready !== false
  } finally {
    connection.close()
  }
}

/**
 * Returns why a reconnected driver is incompatible: its name or a decisive capability has changed. Undefined if it is
 * compatible.
 */
export function whyIncompatible(
  before: DriverIdentity,
  after: DriverIdentity,
  { plugin = [], controller = [], node = [] }: DecisiveCapabilities = {},
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

interface CapabilitySets {
  /** The kind of the capabilities, for messages: controller and node share some names. */
  readonly of: 'plugin' | 'controller' | 'node'
  readonly names: Readonly<Record<string, number>>
  readonly had: ReadonlySet<number> | undefined
  readonly has: ReadonlySet<number> | undefined
}

function changesOf(decisive: readonly number[], { of, names, had, has }: CapabilitySets): string[] {
  return decisive.flatMap((capability) => {
    const [before, after] = [had?.has(capability) ?? false, has?.has(capability) ?? false]
    if (before === after) return []
    const name = Object.keys(names).find((key) => names[key] === capability) ?? String(capability)
    const text = `the ${of} capability ${name}`
    return [before ? `without ${text}` : `with ${text}, which it did not have`]
  })
}
