import { systemClock } from '@csi-sidecars/base'
import { silentLogger } from '@csi-sidecars/telemetry'
import { RecordingTracer } from '@csi-sidecars/telemetry/testing'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { getDriverName } from './capabilities.ts'
import { connect } from './connect.ts'
import type { Connection } from './connection.ts'
import { type ControllerClient, controllerClient } from './controller-client.ts'
import { CODES } from './errors/rpc-error.ts'
import { type ScriptedDriver, scriptedDriver } from './testing/scripted-driver.ts'

const UNPUBLISH = { volumeId: 'vol-1', nodeId: 'node-1', secrets: { password: 'canary' } }
const LIMITS = { timeoutMs: 15_000 }
const ATTRIBUTES = {
  'rpc.system': 'grpc',
  'rpc.service': 'csi.v1.Controller',
  'rpc.method': 'ControllerUnpublishVolume',
  'csi.volume.id': 'vol-1',
  'csi.node.id': 'node-1',
}

let driver: ScriptedDriver
let connection: Connection
let controller: ControllerClient
let tracer: RecordingTracer
beforeEach(async () => {
  tracer = new RecordingTracer()
  driver = await scriptedDriver({
    answers: { ControllerUnpublishVolume: {}, GetPluginInfo: { name: 'd', vendorVersion: '1', manifest: {} } },
  })
  connection = await connect({ address: driver.socket, clock: systemClock, log: silentLogger, tracer })
  controller = controllerClient(connection)
})
afterEach(() => {
  connection.close()
  driver.stop()
})

test('a call during a run is recorded as a span without secrets, and its trace context reaches the driver', async () => {
  await controller.unpublish(UNPUBLISH, LIMITS)
  expect(tracer.spans).toEqual([
    {
      name: 'csi.v1.Controller/ControllerUnpublishVolume',
      traceparent: expect.any(String),
      attributes: { ...ATTRIBUTES, 'rpc.grpc.status_code': CODES.OK },
      end: { error: undefined },
    },
  ])
  expect(driver.calls[0]?.metadata['traceparent']).toBe(tracer.spans[0]?.traceparent)
})

test('the span of a call that names no volume contains no volume ID', async () => {
  await getDriverName(connection, LIMITS)
  expect(Object.keys(tracer.spans[0]?.attributes ?? {})).toEqual([
    'rpc.system',
    'rpc.service',
    'rpc.method',
    'rpc.grpc.status_code',
  ])
})

test('the span of a failed call contains its code and error message', async () => {
  driver.answers['ControllerUnpublishVolume'] = { code: CODES.Internal, details: 'no such array' }
  const thrown = await controller.unpublish(UNPUBLISH, LIMITS).catch((error: unknown) => error)
  expect(tracer.spans[0]).toMatchObject({
    attributes: { 'rpc.grpc.status_code': CODES.Internal },
    end: { error: thrown },
  })
})

test('a call outside of a run sends no trace context to the driver', async () => {
  tracer.running = false
  await controller.unpublish(UNPUBLISH, LIMITS)
  expect(driver.calls[0]?.metadata).not.toHaveProperty('traceparent')
})
