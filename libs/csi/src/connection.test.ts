import { DeadlineError, isAbort } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { ControllerExpandVolume, GetPluginInfo } from '@csi-sidecars/csi-proto'
import { Metrics } from '@csi-sidecars/telemetry'
import { type RecordingLogger, recordingLogger } from '@csi-sidecars/telemetry/testing'
import { Metadata } from '@grpc/grpc-js'
import { afterEach, expect, test } from '@jest/globals'
import { controllerClient } from './controller-client.ts'
import { CODES } from './errors/rpc-error.ts'
import { OperationMetrics } from './operation-metrics.ts'
import {
  closeAll,
  closeLater,
  connected,
  connectedThroughProxy,
  connectedToHttp2,
  failureOf,
  limits,
  PUBLISH,
  UNPUBLISH,
} from './testing/connected.ts'
import { type Answer, scriptedDriver } from './testing/scripted-driver.ts'
import { until } from './testing/turns.ts'
import { timeoutHeader } from './unary-call.ts'

afterEach(closeAll)

test('a call reaches the driver with its time-out, and the caller gets the answer', async () => {
  const { driver, controller } = await connected({ ControllerPublishVolume: { publishContext: { disk: 'sda' } } })
  expect(await controller.publish(PUBLISH, limits)).toEqual({ publishContext: { disk: 'sda' } })
  expect(driver.calls).toMatchObject([{ method: 'ControllerPublishVolume', request: PUBLISH }])
  expect(driver.calls[0]?.timeoutMs).toBeGreaterThan(14_000)
  expect(driver.calls[0]?.timeoutMs).toBeLessThanOrEqual(15_000)
})

test.each([
  [1, '1m'],
  [0.2, '1m'],
  [15_000, '15000m'],
  [99_999_999, '99999999m'],
  [100_000_000, '100000S'],
  [1e15, '99999999S'],
])('the client sends a time-out of %d ms as %s', (ms, header) => {
  expect(timeoutHeader(ms)).toBe(header)
})

test('a call fails with the error of grpc-go after its time-out, and is cancelled in the driver', async () => {
  const clock = new FakeClock()
  const { driver, controller } = await connected({ ControllerUnpublishVolume: 'silence' }, { clock })
  const call = failureOf(controller.unpublish(UNPUBLISH, limits))
  await until(() => driver.calls.length === 1, 'the call arrives')
  await clock.advance(15_000)
  const error = await call
  expect(error.message).toBe('rpc error: code = DeadlineExceeded desc = context deadline exceeded')
  expect(isAbort(error)).toBe(false)
  await until(() => driver.calls[0]?.cancelled === true, 'the driver hears of it')
})

test.each([
  [14_998, 'context deadline exceeded'],
  [14_000, 'the back end is slow'],
])('a call with a time-out of 15 s that the driver ends after %d ms fails with: %s', async (afterMs, message) => {
  const clock = new FakeClock()
  const answer = Promise.withResolvers<Answer>()
  const { driver, controller } = await connected({ ControllerUnpublishVolume: () => answer.promise }, { clock })
  const call = failureOf(controller.unpublish(UNPUBLISH, limits))
  await until(() => driver.calls.length === 1, 'the call arrives')
  await clock.advance(afterMs)
  answer.resolve({ code: CODES.DeadlineExceeded, details: 'the back end is slow' })
  expect((await call).message).toBe(`rpc error: code = DeadlineExceeded desc = ${message}`)
})

test.each(['bad ', ' bad', 'bad'])('the client keeps the error message %j of the driver unchanged', async (message) => {
  const connection = await connectedToHttp2((stream) => {
    const trailers = { 'grpc-status': '3', 'grpc-message': message }
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...trailers }, { endStream: true })
  })
  const error = await failureOf(controllerClient(connection).unpublish(UNPUBLISH, limits))
  expect(error.message).toBe(`rpc error: code = InvalidArgument desc = ${message}`)
})

test.each([0, -1])('the client does not send a call with a time-out of %d ms', async (timeoutMs) => {
  const { driver, controller } = await connected({})
  const error = await failureOf(controller.unpublish(UNPUBLISH, { timeoutMs }))
  expect(error.message).toBe('rpc error: code = DeadlineExceeded desc = context deadline exceeded')
  expect(driver.calls).toEqual([])
})

test('an aborted signal fails the call with the error of grpc-go, and cancels it in the driver', async () => {
  const clock = new FakeClock()
  const { driver, controller, connection } = await connected({ ControllerUnpublishVolume: 'silence' }, { clock })
  const stop = new AbortController()
  const call = failureOf(controller.unpublish(UNPUBLISH, { ...limits, signal: stop.signal }))
  await until(() => driver.calls.length === 1, 'the call arrives')
  const reason = new Error('shutting down')
  stop.abort(reason)
  const error = await call
  expect(error.message).toBe('rpc error: code = Canceled desc = context canceled')
  expect(error.cause).toBe(reason)
  await until(() => driver.calls[0]?.cancelled === true, 'the driver hears of it')
  connection.close()
  expect(clock.pending).toBe(0)
})

test('a call with an already aborted signal is not sent', async () => {
  const { driver, controller } = await connected({})
  const error = await failureOf(controller.unpublish(UNPUBLISH, { ...limits, signal: AbortSignal.abort('no') }))
  expect(error.codeName).toBe('Canceled')
  expect(driver.calls).toEqual([])
})

test('a call fails as DeadlineExceeded if a DeadlineError has aborted its signal', async () => {
  const { controller } = await connected({})
  const signal = AbortSignal.abort(new DeadlineError('listing'))
  const error = await failureOf(controller.unpublish(UNPUBLISH, { ...limits, signal }))
  expect(error.message).toBe('rpc error: code = DeadlineExceeded desc = context deadline exceeded')
})

test.each([
  [CODES.NotFound, 'volume "vol-1" is not there', 'rpc error: code = NotFound desc = volume "vol-1" is not there'],
  [CODES.Internal, '100% gone, Grüße', 'rpc error: code = Internal desc = 100% gone, Grüße'],
  [CODES.Canceled, 'by hand', 'rpc error: code = Canceled desc = by hand'],
  [17, 'new', 'rpc error: code = Code(17) desc = new'],
])('the client keeps the error code %d of the driver unchanged', async (code, details, message) => {
  const { controller } = await connected({ ControllerUnpublishVolume: { code, details } })
  const error = await failureOf(controller.unpublish(UNPUBLISH, limits))
  expect(error).toMatchObject({ code, details, message, retryAfterMs: undefined })
})

test('the error of a call contains the retry delay that the driver requests', async () => {
  const metadata = new Metadata()
  const retryInfo =
    '08081a300a28747970652e676f6f676c65617069732e636f6d2f676f6f676c652e7270632e5265747279496e666f12040a020803'
  metadata.set('grpc-status-details-bin', Buffer.from(retryInfo, 'hex'))
  const { controller } = await connected({ ControllerExpandVolume: { code: 8, details: 'busy', metadata } })
  const request = { volumeId: 'v', capacityRange: undefined, secrets: {}, volumeCapability: undefined }
  const error = await failureOf(controller.expand(request, limits))
  expect(error).toMatchObject({ code: CODES.ResourceExhausted, retryAfterMs: 3_000 })
})

test('an answer that cannot be decoded fails the call as Internal, as in Go', async () => {
  const { connection } = await connected({ GetPluginInfo: { name: 'a', vendorVersion: '', manifest: {} } })
  const damaged = { ...GetPluginInfo, responseDeserialize: ControllerExpandVolume.responseDeserialize }
  const broken = {
    ...damaged,
    responseDeserialize: () => {
      throw new Error('bad wire type')
    },
  }
  const error = await failureOf(connection.call(broken, {}, limits))
  expect(error.message).toBe(
    'rpc error: code = Internal desc = grpc: failed to unmarshal the received message: bad wire type',
  )
})

test('when the driver dies, running calls fail as Unavailable and the connection is lost', async () => {
  const clock = new FakeClock()
  const log = recordingLogger()
  const { driver, connection, controller } = await connected({ ControllerUnpublishVolume: 'silence' }, { clock, log })
  const calls = Array.from({ length: 20 }, () => failureOf(controller.unpublish(UNPUBLISH, limits)))
  await until(() => driver.calls.length === 20, 'all calls arrive')
  driver.stop()
  for (const error of await Promise.all(calls)) expect(error.codeName).toBe('Unavailable')
  expect(connection.lost.aborted).toBe(true)
  expect(log.lines.filter(({ level }) => level === 'error')).toEqual([
    { level: 'error', message: 'Lost connection', pairs: { address: `unix://${driver.socket}` }, error: undefined },
  ])
  expect(clock.pending).toBe(0)
})

test('running calls fail as Unavailable when the connection is cut', async () => {
  const { driver, controller, cut } = await connectedThroughProxy({ ControllerUnpublishVolume: 'silence' })
  const call = failureOf(controller.unpublish(UNPUBLISH, limits))
  await until(() => driver.calls.length === 1, 'the call arrives')
  cut()
  expect((await call).codeName).toBe('Unavailable')
})

test('a driver that stops gracefully may finish its calls, but gets no new calls', async () => {
  let finish = (_answer: object): void => undefined
  const answer = new Promise<object>((resolve) => {
    finish = resolve
  })
  const { driver, connection, controller } = await connected({ ControllerPublishVolume: () => answer })
  const call = controller.publish(PUBLISH, limits)
  await until(() => driver.calls.length === 1, 'the call arrives')
  driver.stopWithGrace()
  await until(() => connection.lost.aborted, 'the loss is noticed')
  expect((await failureOf(controller.unpublish(UNPUBLISH, limits))).codeName).toBe('Unavailable')
  finish({ publishContext: { disk: 'sdb' } })
  expect(await call).toEqual({ publishContext: { disk: 'sdb' } })
  expect(driver.calls).toHaveLength(1)
})

test('calls on a lost connection never reach a restarted driver', async () => {
  const { driver, connection, controller } = await connected({})
  driver.stop()
  await until(() => connection.lost.aborted, 'the loss is noticed')
  const again = await scriptedDriver({ socket: driver.socket })
  closeLater(again.stop)
  const error = await failureOf(controller.unpublish(UNPUBLISH, limits))
  expect(error.message).toBe('rpc error: code = Unavailable desc = connection to the CSI driver lost')
  expect(again.calls).toEqual([])
})

test('a connection that our process closes does not count as lost', async () => {
  const log = recordingLogger()
  const { driver, connection, controller } = await connected({}, { log })
  connection.close()
  expect((await failureOf(controller.unpublish(UNPUBLISH, limits))).message).toBe(
    'rpc error: code = Unavailable desc = connection closed',
  )
  driver.stop()
  expect(connection.lost.aborted).toBe(false)
  expect(log.lines.filter(({ level }) => level === 'error')).toEqual([])
})

const level5 = (log: RecordingLogger) =>
  log.lines
    .filter(({ level, message }) => level === 5 && message.startsWith('GRPC'))
    .map(({ message, pairs }) => [message, pairs])

test('the log shows each call to the driver and its response at level 5, without the secrets', async () => {
  const log = recordingLogger()
  const { controller } = await connected({ ControllerPublishVolume: { publishContext: { disk: 'sda' } } }, { log })
  await controller.publish(PUBLISH, limits)
  const method = '/csi.v1.Controller/ControllerPublishVolume'
  const request = '{"node_id":"node-1","secrets":"***stripped***","volume_id":"vol-1"}'
  expect(level5(log)).toEqual([
    ['GRPC call', { method, request }],
    ['GRPC response', { response: '{"publish_context":{"disk":"sda"}}', err: null }],
  ])
})

test('the log shows the error of a failed call at level 5', async () => {
  const log = recordingLogger()
  const { controller } = await connected({ ControllerUnpublishVolume: { code: 5, details: 'gone' } }, { log })
  const err = await failureOf(controller.unpublish(UNPUBLISH, limits))
  expect(level5(log)[1]).toEqual(['GRPC response', { response: '{}', err }])
})

test('the secrets of a call are removed from the error message of the driver, in log and error', async () => {
  const log = recordingLogger()
  const details = 'login of admin with tr0ub4dor&3 failed: tr0ub4dor&3-old has expired'
  const { controller } = await connected({ ControllerPublishVolume: { code: 16, details } }, { log })
  const secrets = { user: 'admin', password: 'tr0ub4dor&3\n', old: 'tr0ub4dor&3-old' }
  const error = await failureOf(controller.publish({ ...PUBLISH, secrets }, limits))
  expect(error).toMatchObject({
    codeName: 'Unauthenticated',
    message:
      'rpc error: code = Unauthenticated desc = login of admin with ***stripped*** failed: ***stripped*** has expired',
  })
  expect(JSON.stringify(error)).not.toContain('tr0ub4dor')
  expect(level5(log)[1]).toEqual(['GRPC response', { response: '{}', err: error }])
})

test.each([
  [20, '{"publish_context":{ [response body too large, log capped to 20 chars]'],
  [34, '{"publish_context":{"disk":"sda"}}'],
  [0, '{"publish_context":{"disk":"sda"}}'],
  [-1, '{"publish_context":{"disk":"sda"}}'],
])('the log shows at most %d characters of a response of the driver', async (maxLogLength, response) => {
  const log = recordingLogger()
  const answers = { ControllerPublishVolume: { publishContext: { disk: 'sda' } } }
  const { controller } = await connected(answers, { log, maxLogLength })
  await controller.publish(PUBLISH, limits)
  expect(level5(log)[1]).toEqual(['GRPC response', { response, err: null }])
})

test('metrics count each call of the driver by method and code', async () => {
  const metrics = new Metrics()
  const operations = new OperationMetrics(metrics)
  operations.setDriverName('csi.example.com')
  const { controller } = await connected({ ControllerPublishVolume: { publishContext: {} } }, { operations })
  await controller.publish(PUBLISH, limits)
  await failureOf(controller.unpublish(UNPUBLISH, limits))
  const counts = (await metrics.text())
    .split('\n')
    .filter((line) => line.startsWith('csi_sidecar_operations_seconds_count'))
  const name = 'csi_sidecar_operations_seconds_count{driver_name="csi.example.com",'
  expect(counts.sort()).toEqual([
    `${name}grpc_status_code="OK",method_name="/csi.v1.Controller/ControllerPublishVolume"} 1`,
    `${name}grpc_status_code="Unimplemented",method_name="/csi.v1.Controller/ControllerUnpublishVolume"} 1`,
  ])
})
