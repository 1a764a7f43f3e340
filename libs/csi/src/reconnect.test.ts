import { FakeClock } from '@csi-sidecars/base/testing'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  ControllerUnpublishVolume,
  PluginCapability_Service_Type as PluginService,
} from '@csi-sidecars/csi-proto'
import { Metrics, silentLogger } from '@csi-sidecars/telemetry'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { afterEach, expect, test } from '@jest/globals'
import { driverCapabilities, getControllerCapabilities, getDriverName, getPluginCapabilities } from './capabilities.ts'
import { connect, connectMigrated } from './connect.ts'
import type { Connection } from './connection.ts'
import { createDriver, type Driver } from './driver.ts'
import { RpcError } from './errors/rpc-error.ts'
import { OperationMetrics } from './operation-metrics.ts'
import { type DriverIdentity, probe } from './probe.ts'
import { scriptedDriver } from './testing/scripted-driver.ts'
import { pass, until } from './testing/turns.ts'

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

const HANDSHAKE = ['Probe', 'GetPluginInfo', 'GetPluginCapabilities', 'ControllerGetCapabilities']
const UNPUBLISH = { volumeId: 'v', nodeId: 'n', secrets: {} }
const limits = { timeoutMs: 60_000 }

function answers(name = 'csi.example.com') {
  const service = { type: { $case: 'service', value: { type: PluginService.CONTROLLER_SERVICE } } }
  const publish = { type: { $case: 'rpc', value: { type: ControllerRpc.PUBLISH_UNPUBLISH_VOLUME } } }
  return {
    Probe: {},
    GetPluginInfo: { name, vendorVersion: '1', manifest: {} },
    GetPluginCapabilities: { capabilities: [service] },
    ControllerGetCapabilities: { capabilities: [publish] },
    ControllerUnpublishVolume: {},
  }
}

async function start(socket: string, clock: FakeClock): Promise<Driver> {
  const log = recordingLogger()
  const base = { address: socket, clock, log: silentLogger }
  const identify = async (connection: Connection, signal?: AbortSignal): Promise<DriverIdentity> => {
    await probe(connection, { timeoutMs: 15_000, clock, log, signal })
    const options = { timeoutMs: 1_000, signal }
    const name = await getDriverName(connection, options)
    const plugin = await getPluginCapabilities(connection, options)
    return { name, capabilities: driverCapabilities(plugin, await getControllerCapabilities(connection, options)) }
  }
  const connection = await connect(base)
  const driver = createDriver({
    clock,
    log,
    connection,
    identity: await identify(connection),
    decisiveCapabilities: { controller: [ControllerRpc.PUBLISH_UNPUBLISH_VOLUME] },
    reconnect: (signal) => connect({ ...base, timeoutMs: Number.POSITIVE_INFINITY, signal }),
    identify,
  })
  cleanups.push(() => driver.close())
  return driver
}

test('a driver that is killed during calls and comes back is identified before it gets new calls', async () => {
  const clock = new FakeClock()
  const first = await scriptedDriver({ answers: { ...answers(), ControllerUnpublishVolume: 'silence' } })
  const driver = await start(first.socket, clock)
  expect(first.calls.map(({ method }) => method)).toEqual(HANDSHAKE)
  const calls = Array.from({ length: 20 }, () =>
    driver.call(ControllerUnpublishVolume, UNPUBLISH, limits).catch((error: unknown) => error),
  )
  await until(() => first.calls.length === 24, 'all calls arrive')
  first.stop()
  await until(() => driver.state === 'lost', 'the loss is noticed')
  for (const error of await Promise.all(calls)) expect(error instanceof RpcError && error.codeName).toBe('Unavailable')
  await pass(clock, 3_000)
  const second = await scriptedDriver({ socket: first.socket, answers: answers() })
  cleanups.push(second.stop)
  await pass(clock, 2_000)
  await until(() => driver.state === 'ready', 'the driver is back')
  await driver.call(ControllerUnpublishVolume, UNPUBLISH, limits)
  expect(second.calls.map(({ method }) => method)).toEqual([...HANDSHAKE, 'ControllerUnpublishVolume'])
})

test('a driver with another name on the same socket ends in the state `failed`', async () => {
  const clock = new FakeClock()
  const first = await scriptedDriver({ answers: answers() })
  const driver = await start(first.socket, clock)
  first.stop()
  await until(() => driver.state === 'lost', 'the loss is noticed')
  const second = await scriptedDriver({ socket: first.socket, answers: answers('other.example.com') })
  cleanups.push(second.stop)
  await pass(clock, 2_000)
  await until(() => driver.state === 'failed', 'the other name is seen')
  const message = 'CSI driver csi.example.com came back under another name: other.example.com'
  expect(await driver.failure).toEqual(new Error(message))
})

test('`connectMigrated` replaces a connection, and metrics label the new calls as migrated', async () => {
  const clock = new FakeClock()
  const scripted = await scriptedDriver({ answers: answers('ebs.csi.aws.com') })
  const metrics = new Metrics()
  const operations = new OperationMetrics(metrics)
  const options = { address: scripted.socket, clock, log: silentLogger, operations }
  const first = await connect(options)
  await probe(first, { timeoutMs: 1_000, clock, log: silentLogger })
  const second = await connectMigrated(first, { ...options, driverName: 'ebs.csi.aws.com' })
  cleanups.push(() => second.close(), scripted.stop)
  await expect(first.call(ControllerUnpublishVolume, UNPUBLISH, limits)).rejects.toThrow('connection closed')
  expect(first.lost.aborted).toBe(false)
  await probe(second, { timeoutMs: 1_000, clock, log: silentLogger })
  await second.call(ControllerUnpublishVolume, UNPUBLISH, { ...limits, migrated: true })
  expect(scripted.calls.map(({ method }) => method)).toEqual(['Probe', 'Probe', 'ControllerUnpublishVolume'])
  const text = await metrics.text()
  const labels = 'driver_name="ebs.csi.aws.com",grpc_status_code="OK",method_name="/csi.v1.'
  expect(text.match(/^csi_sidecar_operations_seconds_count.*$/gm)).toEqual([
    `csi_sidecar_operations_seconds_count{${labels}Identity/Probe",migrated="false"} 1`,
    `csi_sidecar_operations_seconds_count{${labels}Controller/ControllerUnpublishVolume",migrated="true"} 1`,
  ])
})
