import { ok } from 'node:assert'
import { constants, type ServerHttp2Stream } from 'node:http2'
import { between, type Random } from '@csi-sidecars/disturb'
import { type CsiDriver, DriverFailure, framed, GRPC_HEADERS, refuse } from '@csi-sidecars/emulator'
import { APPS } from '@csi-sidecars/sidecars'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import type { TestContext } from '../harness/context.ts'
import { adoptingDriver } from '../harness/driver/adopting-driver.ts'
import { sound } from '../harness/process/sound.ts'
import { surroundings } from '../rows/work.ts'
import { begin, done, type FaultCase, QUICK } from './case.ts'

/** A fault that replaces the driver's answer to a call. */
type Misdeed = (stream: ServerHttp2Stream, driver: CsiDriver) => void

const latin = (text: string): string => Buffer.from(text).toString('latin1')
const respond =
  (headers: Record<string, string | number>, bytes?: Buffer): Misdeed =>
  (stream) => {
    stream.respond({ ...GRPC_HEADERS, ...headers }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(bytes)
  }
const failing =
  (code: string, message: string, headers: Record<string, string> = {}): Misdeed =>
  (stream) =>
    stream.respond({ ...GRPC_HEADERS, 'grpc-status': code, 'grpc-message': message, ...headers }, { endStream: true })

const MISDEEDS: Readonly<Record<string, Misdeed>> = {
  ...Object.fromEntries(
    Array.from({ length: 16 }, (_, index) => [`error ${index + 1}`, failing(String(index + 1), 'a fault of the test')]),
  ),
  'error 17': failing('17', 'unknown to gRPC'),
  'error -1': failing('-1', 'below all'),
  'a status that is no number': failing('broken', 'no number'),
  'a success without a message': (stream) => refuse(stream, new DriverFailure('OK', '')),
  'a message of 60 KB': failing('13', 'x'.repeat(60_000)),
  'a message of 200 KB': failing('13', 'x'.repeat(200_000)),
  'a message that is not ASCII': failing('13', latin('kein Gerät: 東京')),
  'a message that is not UTF-8': failing('13', '\u00ff\u00fe'),
  'a message with line breaks': failing('13', 'a%0Ab%0A%0Dc'),
  'a message with broken escapes': failing('13', '100% %zz %'),
  'a message that looks like a log line': failing('13', 'E0101 00:00:00.000000       1 x.go:1] "x" err="y"'),
  'details that are no protobuf': failing('8', 'busy', { 'grpc-status-details-bin': 'AAAAAAAA//8' }),
  'a header that cannot be read': failing('8', 'busy', { 'x-trace': latin('ü') }),
  'an answer without a status': (stream) => {
    stream.respond(GRPC_HEADERS)
    stream.end(framed(Buffer.alloc(0)))
  },
  'no protobuf': respond({}, framed(Buffer.from('ffffffffffffff', 'hex'))),
  'text that is no UTF-8': respond({}, framed(Buffer.from('0a060a01611201ff', 'hex'))),
  'half a message': respond({}, Buffer.from([0, 0, 0, 0, 9, 1])),
  'no frame': respond({}),
  'a length of 2 GB': respond({}, Buffer.from([0, 0x7f, 0xff, 0xff, 0xff])),
  'two messages': respond({}, Buffer.concat([framed(Buffer.alloc(0)), framed(Buffer.alloc(0))])),
  'compressed, says it is not': respond({}, framed(Buffer.from([0x0a, 0]), 1)),
  'compressed in an unknown way': respond({ 'grpc-encoding': 'snappy' }, framed(Buffer.from([0x0a, 0]), 1)),
  'no gzip': respond({ 'grpc-encoding': 'gzip' }, framed(Buffer.from([0x0a, 0]), 1)),
  'HTTP 503 in HTML': (stream) => {
    stream.respond({ ':status': 503, 'content-type': 'text/html' })
    stream.end('<html>')
  },
  'HTTP 404': (stream) => stream.respond({ ':status': 404 }, { endStream: true }),
  'another content type': respond({ 'content-type': 'text/plain' }, Buffer.from('hello')),
  ...Object.fromEntries(
    ['NO_ERROR', 'PROTOCOL_ERROR', 'INTERNAL_ERROR', 'REFUSED_STREAM', 'CANCEL', 'ENHANCE_YOUR_CALM'].map((name) => [
      `reset with ${name}`,
      (stream: ServerHttp2Stream) => stream.close(Reflect.get(constants, `NGHTTP2_${name}`)),
    ]),
  ),
  'GOAWAY without an answer': (stream) => stream.session?.goaway(constants.NGHTTP2_NO_ERROR),
  'a session that breaks': (stream) => stream.session?.destroy(),
  'a driver that dies and restarts': (_, driver) => {
    void driver.crash()
    void driver.restart()
  },
  silence: () => undefined,
}

export const driverCases: readonly FaultCase[] = APPS.flatMap((app) =>
  Object.entries(MISDEEDS).map(([fault, misdeed]) => ({
    app,
    kind: 'drivers',
    fault,
    run: (t, random) => misdone(t, misdeed, random),
  })),
)

async function misdone(t: TestContext, misdeed: Misdeed, random: Random): Promise<void> {
  await using driver = await adoptingDriver(t)
  const method = FACTS[t.app].mainMethod
  const answer = (stream: ServerHttp2Stream): void => misdeed(stream, driver)
  const times = between(random, 1, 2)
  const fault = driver.faults.add({ match: { method }, times, action: { kind: 'raw', answer } })
  await surroundings(t)
  const sidecar = await t.sidecar({ args: [...QUICK, `--csi-address=${driver.socket}`] })
  await begin(t)
  await done(t)
  ok(fault.hits === times, 'no fault was injected')
  await sound(sidecar)
}
