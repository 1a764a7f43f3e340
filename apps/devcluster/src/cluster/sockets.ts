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

export interface SocketOptions {
  /** `unix:///path` of a person's own driver; without it the emulated one is started. */
  readonly driver?: string | undefined
  /** `unix:///path` of the own driver's node service on each known node; without it there is one socket for all. */
  readonly nodeSockets?: readonly string[] | undefined
  /** Faults for the calls of a person's own driver, and a listener for them; left out: neither. */
  readonly proxy?: Pick<ProxyOptions, 'choose' | 'report' | 'mayComeAgain'> | undefined
  /** How the emulated driver differs from the usual one. */
  readonly driverSettings?: Partial<DriverSettings> | undefined
  readonly directory: string
  readonly clock: Clock
  /** It has each call to a person's own driver, when it has ended. */
  readonly log: Logger
}

export interface OpenSockets {
  /** The address of the driver, for the sidecars and for us. */
  readonly address: string
  /** The addresses of the node services, if they have sockets of their own. */
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
    // A driver test has connected to it already. Behind the proxy an error could not name the driver's address.
    if (options.proxy === undefined) (await openDriver({ address: driver, clock, log, signal })).close()
    return await openProxies(driver, options, stack)
  }
  const emulatedDriver = await startCsiDriver({ ...driverSettings, socket: join(directory, 'csi.sock'), clock })
  stack.defer(() => emulatedDriver.stop())
  return { address: emulatedDriver.address, nodes: [], liveCalls: callsOf(emulatedDriver), emulatedDriver }
}

/** A person's own driver is called through a proxy a socket: so the calls of the sidecars are seen, too. */
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

/** Who called is not known: to a driver all are one. */
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

/** Connects to the node services that have sockets of their own. */
export async function openNodes(
  addresses: readonly string[],
  { stack, ...parts }: OpeningParts,
): Promise<readonly Driver[]> {
  return await Promise.all(
    addresses.map(async (address) => {
      const driver = await openDriver({ ...parts, address, services: 'node' })
      stack.defer(() => driver.close())
      return driver
    }),
  )
}
