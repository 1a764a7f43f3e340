import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2'
import { connect as connectTo, createServer, type Socket } from 'node:net'
import { systemClock } from '@csi-sidecars/base'
import type { ControllerPublishVolumeRequest } from '@csi-sidecars/csi-proto'
import { silentLogger } from '@csi-sidecars/telemetry'
import { type ConnectOptions, connect } from '../connect.ts'
import type { Connection } from '../connection.ts'
import { controllerClient } from '../controller-client.ts'
import { RpcError } from '../errors/rpc-error.ts'
import { type ScriptedDriver, scriptedDriver, socketPath } from './scripted-driver.ts'

const cleanups: (() => void)[] = []

/** Registers a function that `closeAll` calls. */
export function closeLater(close: () => void): void {
  cleanups.push(close)
}

/** Closes all connections, drivers and servers of a test. */
export function closeAll(): void {
  for (const cleanup of cleanups.splice(0)) cleanup()
}

export async function connected(answers: ScriptedDriver['answers'], options: Partial<ConnectOptions> = {}) {
  const driver = await scriptedDriver({ answers })
  const connection = await connect({ address: driver.socket, clock: systemClock, log: silentLogger, ...options })
  cleanups.push(() => connection.close(), driver.stop)
  return { driver, connection, controller: controllerClient(connection) }
}

/** Connects to a driver through a proxy. `cut` destroys the sockets of the proxy. */
export async function connectedThroughProxy(answers: ScriptedDriver['answers']) {
  const driver = await scriptedDriver({ answers })
  const sockets: Socket[] = []
  const proxy = createServer((near) => {
    const far = connectTo(driver.socket)
    sockets.push(near, far)
    near.on('error', () => undefined).pipe(far)
    far.on('error', () => undefined).pipe(near)
  })
  const address = socketPath()
  await new Promise<void>((resolve) => proxy.listen(address, resolve))
  const connection = await connect({ address, clock: systemClock, log: silentLogger })
  cleanups.push(
    () => connection.close(),
    () => proxy.close(),
    driver.stop,
  )
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return { driver, controller: controllerClient(connection), cut }
}

export const PUBLISH: ControllerPublishVolumeRequest = {
  volumeId: 'vol-1',
  nodeId: 'node-1',
  volumeCapability: undefined,
  readonly: false,
  secrets: { password: 'canary' },
  volumeContext: {},
}
export const UNPUBLISH = { volumeId: 'vol-1', nodeId: 'node-1', secrets: {} }
export const limits = { timeoutMs: 15_000 }

export async function failureOf(call: Promise<unknown>): Promise<RpcError> {
  const error = await call.then(
    () => new Error('the call succeeded'),
    (thrown: unknown) => thrown,
  )
  if (error instanceof RpcError) return error
  throw error
}

/** Connects to a bare HTTP/2 server, which can send answers that a gRPC server cannot. */
export async function connectedToHttp2(
  answer: (stream: ServerHttp2Stream) => void,
  options: Partial<ConnectOptions> = {},
): Promise<Connection> {
  const address = socketPath()
  const server = createHttp2Server()
  server.on('stream', answer)
  await new Promise<void>((resolve) => server.listen(address, resolve))
  const connection = await connect({ address, clock: systemClock, log: silentLogger, ...options })
  cleanups.push(
    () => connection.close(),
    () => server.close(),
  )
  return connection
}
