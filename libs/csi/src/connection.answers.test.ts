import type { ServerHttp2Stream } from 'node:http2'
import { Metrics } from '@csi-sidecars/telemetry'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { afterEach, describe, expect, test } from '@jest/globals'
import { controllerClient } from './controller-client.ts'
import { classify } from './errors/classify.ts'
import { OperationMetrics } from './operation-metrics.ts'
import { closeAll, connected, connectedToHttp2, failureOf, limits, PUBLISH, UNPUBLISH } from './testing/connected.ts'
import { until } from './testing/turns.ts'

afterEach(closeAll)

test('the client receives an answer to ListVolumes of ten megabytes', async () => {
  const entry = {
    volume: {
      volumeId: 'v'.repeat(1000),
      capacityBytes: 0n,
      volumeContext: {},
      contentSource: undefined,
      accessibleTopology: [],
    },
    status: undefined,
  }
  const { controller } = await connected({ ListVolumes: { entries: Array(10_000).fill(entry), nextToken: '' } })
  const { entries } = await controller.listVolumes({ maxEntries: 0, startingToken: '' }, limits)
  expect(entries).toHaveLength(10_000)
})

const GRPC = { ':status': 200, 'content-type': 'application/grpc' }

describe('unreadable answers', () => {
  const compressed = (encoding: string) => (stream: ServerHttp2Stream) => {
    stream.respond({ ...GRPC, 'grpc-encoding': encoding }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(Buffer.from([1, 0, 0, 0, 2, 0x0a, 0x00]))
  }

  test.each([
    ['compressed despite the encoding `identity`', compressed('identity')],
    ['compressed in an unknown way', compressed('snappy')],
    ['invalid gzip', compressed('gzip')],
    [
      'larger than the limit',
      (stream: ServerHttp2Stream) => {
        stream.respond(GRPC)
        stream.write(Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]))
      },
    ],
    [
      'without a status',
      (stream: ServerHttp2Stream) => {
        stream.respond(GRPC)
        stream.end()
      },
    ],
  ])('a call whose answer is unreadable (%s) fails with an uncertain outcome', async (_, answer) => {
    const operations = new OperationMetrics(new Metrics())
    const connection = await connectedToHttp2(answer, { operations })
    const error = await failureOf(controllerClient(connection).unpublish(UNPUBLISH, limits))
    expect(error.message).toMatch(/^rpc error: code = (Internal|ResourceExhausted|Unavailable) desc = \w+ \w+ .*$/)
    expect(error.message).not.toContain('undefined')
    expect(classify(error).final).toBe(false)
  })
})

test('an answer of 70 MiB from the driver fails its own call and no other call', async () => {
  const released = Promise.withResolvers<void>()
  const answers = {
    ControllerPublishVolume: { publishContext: { big: 'x'.repeat(70 * 1024 * 1024) } },
    ControllerUnpublishVolume: () => released.promise.then(() => ({})),
  }
  const { driver, controller, connection } = await connected(answers)
  const unpublish = (volumeId: string) => controller.unpublish({ ...UNPUBLISH, volumeId }, limits)
  const other = unpublish('other')
  await until(() => driver.calls.length === 1, 'the other call arrives')
  const error = await failureOf(controller.publish(PUBLISH, limits))
  expect(error).toMatchObject({ codeName: 'ResourceExhausted', origin: 'client' })
  released.resolve()
  await Promise.all([other, unpublish('later')])
  expect(connection.lost.aborted).toBe(false)
})

describe('error messages', () => {
  const failing = (headers: Record<string, string>) => (stream: ServerHttp2Stream) =>
    stream.respond({ ...GRPC, 'grpc-status': '3', ...headers }, { endStream: true })
  const utf8 = (text: string): string => Buffer.from(text).toString('latin1')

  test.each([
    ['plain UTF-8', utf8('kein Gerät'), 'kein Gerät'],
    ['escaped', 'kein%20Ger%C3%A4t%2C 100%25 weg%3F', 'kein Gerät, 100% weg?'],
    ['partly escaped', `${utf8('ä')}%c3%a4 50%`, 'ää 50%'],
    ['escaped twice', 'a%252Cb', 'a%2Cb'],
    ['invalid UTF-8', '\u00ff!', '\ufffd!'],
    ['with a tab', 'a\tb', 'a\tb'],
  ])('the client receives an error message of the driver unchanged: %s', async (_, sent, details) => {
    const connection = await connectedToHttp2(failing({ 'grpc-message': sent }))
    const error = await failureOf(controllerClient(connection).unpublish(UNPUBLISH, limits))
    expect(error).toMatchObject({ codeName: 'InvalidArgument', details })
  })

  test('an unreadable header is logged once, and the caller still gets the error message of the driver', async () => {
    const log = recordingLogger()
    const connection = await connectedToHttp2(failing({ 'grpc-message': 'no', 'x-trace': utf8('ü') }), { log })
    const error = await failureOf(controllerClient(connection).unpublish(UNPUBLISH, limits))
    expect(error).toMatchObject({ codeName: 'InvalidArgument', details: 'no' })
    const errors = log.lines.filter(({ level }) => level === 'error')
    expect(errors.map(({ message, error: why }) => [message, String(why).slice(0, 50)])).toEqual([
      ['gRPC client', 'Error: Failed to add metadata entry x-trace: Ã¼. M'],
    ])
  })
})

test('an error message of the driver above the size limit of HTTP/2 ends all calls, and is logged', async () => {
  const log = recordingLogger()
  const answers = {
    ControllerUnpublishVolume: { code: 13, details: 'x'.repeat(100_000) },
    ControllerPublishVolume: 'silence',
  } as const
  const { driver, controller, connection } = await connected(answers, { log })
  const other = failureOf(controller.publish(PUBLISH, limits))
  await until(() => driver.calls.length === 1, 'the other call arrives')
  const error = await failureOf(controller.unpublish(UNPUBLISH, limits))
  expect(connection.lost.aborted).toBe(true)
  expect(error).toMatchObject({ codeName: 'Unavailable', origin: 'session' })
  expect(await other).toMatchObject({ codeName: 'Unavailable', origin: 'session' })
  const errors = log.lines.filter(({ level }) => level === 'error')
  expect(errors.map(({ message, error: why }) => [message, String(why)])).toEqual([
    ['Lost connection', expect.stringContaining('Protocol error; an error text of more than 64 KiB does that')],
  ])
})
