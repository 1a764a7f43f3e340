import { join } from 'node:path'
import type { Clock } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import {
  callsOf,
  codeNameOf,
  type LiveCalls,
  type ProxiedCall,
  ProxiedCalls,
  type ProxyOptions,
  startProxy,
} from '@csi-sidecars/disturb'
import { type CsiDriver, type DriverSettings, startCsiDriver } from '@csi-sidecars/emulator'
import type { Logger } from '@csi-sidecars/telemetry'
import { openDriver } from '@csi-sidecars/volume-controllers'

/** The driver of the cluster: the emulated driver or the user's own. */
export interface SocketOptions {
  /** The address of the user's own driver, `unix:///path`. Undefined: the emulated driver is started. */
  readonly driver?: string | undefined
  /** The addresses of the driver's node services, one for each node. Undefined: `driver` serves all nodes. */
  readonly nodeSockets?: readonly string[] | undefined
  /** Functions that the proxy of the user's own driver calls, for example to inject faults. */
  readonly proxy?: Pick<ProxyOptions, 'choose' | 'report' | 'mayComeAgain'> | undefined
  /** Changes to the default settings of the emulated driver. */
  readonly driverSettings?: Partial<DriverSettings> | undefined
  readonly directory: string
  readonly clock: Clock
  /** The log, which gets one line for each ended call to the user's own driver. */
  readonly log: Logger
}

/** The open sockets of the driver, with the calls that pass them. */
export interface OpenSockets {
  /** The address at which the sidecars and this process call the driver. */
  readonly address: string
  /** The addresses of the node services. Empty if the driver has one socket for all services. */
  readonly nodes: readonly string[]
  readonly liveCalls: LiveCalls
  readonly emulatedDriver: CsiDriver | undefined
}

export async function openSockets(
  options: SocketOptions,
  stack: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<OpenSockets> {
  const { driver, driverSettings, directory, clock, log } = options
  if (driver !== undefined) {
    // Connects without the proxy first, so that errors name the driver's address. csi-driver-test does so itself.
    if (options.proxy === undefined) (await openDriver({ address: driver, clock, log, signal })).close()
    return await openProxies(driver, options, stack)
  }
  const emulatedDriver = await startCsiDriver({ ...driverSettings, socket: join(directory, 'csi.sock'), clock })
  stack.defer(() => emulatedDriver.stop())
  return { address: emulatedDriver.address, nodes: [], liveCalls: callsOf(emulatedDriver), emulatedDriver }
}

/** Starts a proxy for each socket of the user's own driver, so that the calls of the sidecars are recorded too. */
async function openProxies(
  driver: string,
  { nodeSockets = [], directory, clock, log, proxy: hooks }: SocketOptions,
  stack: AsyncDisposableStack,
): Promise<OpenSockets> {
  const calls = new ProxiedCalls()
  const open = async (address: string, name: string): Promise<string> => {
    const proxy = await startProxy({
      socket: join(directory, `${name}.sock`),
      driver: address.replace(/^unix:\/\//, ''),
      clock,
      choose: (call) => hooks?.choose(call),
      mayComeAgain: (call) => hooks?.mayComeAgain(call) ?? false,
      report: (call) => {
        hooks?.report(call)
        calls.report(call)
        if (call.end !== undefined) log.info('CSI call', { address, ...callFields(call) })
      },
    })
    stack.defer(() => proxy.stop())
    return proxy.address
  }
  const address = await open(driver, 'proxy')
  const nodes = await Promise.all(nodeSockets.map((socket, index) => open(socket, `proxy-${index + 1}`)))
  return { address, nodes, liveCalls: calls.source, emulatedDriver: undefined }
}

/** Returns the fields of the log line about a call. The caller is missing, because the proxy does not know it. */
function callFields({ method, request, start, end = start, code, message, fault }: ProxiedCall) {
  const { volumeId, nodeId } = request
  const answer = code === undefined ? 'none' : codeNameOf(code)
  return { method, volumeId, nodeId, answer, tookMs: Math.round(end - start), message, fault }
}

interface OpeningParts {
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  readonly stack: AsyncDisposableStack
}

/** Connects to the node service of each address. */
export async function openNodes(
  addresses: readonly string[],
  { stack, ...options }: OpeningParts,
): Promise<readonly Driver[]> {
  return await Promise.all(
    addresses.map(async (address) => {
      const driver = await openDriver({ ...options, address, services: 'node' })
      stack.defer(() => driver.close())
      return driver
    }),
  )
}
