import {
  FrameReader,
  frameOf,
  frameOfMessage,
  LineReader,
  ProtocolError,
  parseJson,
  ResponseParser,
} from '@csi-sidecars/kube-client/readers'
import { PERSISTENT_VOLUME_MESSAGE } from '@csi-sidecars/kube-types'
import { attempt, type BytesReader, field, same } from '../reader.ts'

const META = '"metadata":{"name":"a","resourceVersion":"7","managedFields":[{"manager":"m","fieldsV1":{"f:a":{}}}]}'
const TYPES: ReadonlySet<string> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'END'])

export const jsonFrames: BytesReader = {
  name: 'json-frames',
  seeds: [
    `{"type":"ADDED","object":{"kind":"PersistentVolume",${META},"spec":{"capacity":{"storage":"1Gi"}}}}\n`,
    '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}\n',
    '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"old","details":{"retryAfterSeconds":1}}}\n',
  ],
  words: [
    ...'"type": "object": "ADDED" "MODIFIED" "DELETED" "BOOKMARK" "ERROR" "metadata": "kind":"Status" "code":'.split(
      ' ',
    ),
    ...'"details": "causes":[ "retryAfterSeconds": "resourceVersion": "__proto__": null true 1e999 -1 0.5'.split(' '),
    ...['\n', '\r', ',"managedFields":[{', '}],"', '}]},"', '}]}}', '"x"', '{}', '[]', '"', '\\"'],
  ],
  read: (input) => {
    const lines = linesOf(input, input.length || 1)
    same(linesOf(input, 3), lines, 'in pieces of 3 bytes')
    for (const line of lines) {
      const frame = frameOf<unknown>(line)
      if (!TYPES.has(frame.type)) throw new Error(`a frame of type ${frame.type}`)
      checkNumbers(frame)
      checkWithoutManagedFields(line)
    }
  },
}

function linesOf(input: Buffer, size: number): readonly string[] {
  const reader = new LineReader()
  const lines: string[] = []
  for (let at = 0; at < input.length; at += size) {
    reader.push(input.subarray(at, at + size))
    for (let line = reader.next(); line !== undefined; line = reader.next()) lines.push(line)
  }
  return lines
}

/** Checks that the code and the delay of an error are whole numbers or absent. */
function checkNumbers(frame: ReturnType<typeof frameOf>): void {
  if (frame.type !== 'END' || frame.why === 'closed') return
  const { error } = frame as { error?: { code: unknown; retryAfterMs: unknown } }
  for (const number of [error?.code, error?.retryAfterMs]) {
    if (number !== undefined && !Number.isInteger(number)) throw new Error(`${String(number)} is no whole number`)
  }
}

/** Checks that the parsed object has lost no field except `managedFields`. */
function checkWithoutManagedFields(line: string): void {
  const whole = attempt(
    () => JSON.parse(line) as unknown,
    (error) => error instanceof SyntaxError,
  )
  // A line with `managedFields` twice is skipped, because the two parsers may keep different values.
  if ('refused' in whole || line.split('managedFields').length > 2) return
  same(stripped(parseJson(line)), stripped(whole.value), 'without managedFields')
}

function stripped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stripped)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value).flatMap(([key, each]) => (key === 'managedFields' ? [] : [[key, stripped(each)]]))
}

export const protobufFrames: BytesReader = {
  name: 'protobuf-frames',
  seeds: [frame('ADDED', volume()), frame('BOOKMARK', volume()), frame('ERROR', status())],
  words: [
    ...['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR', 'k8s\0', 'Status', 'v1', 'k8s.io/initial-events-end'],
    ...[Buffer.of(0, 0, 0, 4), Buffer.of(0xff, 0xff, 0xff, 0xff), Buffer.of(10, 2), Buffer.of(18, 4), Buffer.of(8)],
    Buffer.from('ffffffffffffffffff01', 'hex'),
  ],
  read: (input) => {
    const whole = framesOf(input, input.length || 1)
    same(framesOf(input, 3), whole, 'in pieces of 3 bytes')
  },
}

function framesOf(input: Buffer, size: number): readonly unknown[] {
  const reader = new FrameReader()
  const frames: unknown[] = []
  for (let at = 0; at < input.length; at += size) {
    reader.push(input.subarray(at, at + size))
    for (;;) {
      const next = attempt(() => reader.next(), isTooLong)
      if ('refused' in next) return frames
      if (next.value === undefined) break
      const made = frameOfMessage(next.value, PERSISTENT_VOLUME_MESSAGE)
      checkNumbers(made)
      frames.push(made.type === 'END' ? { type: made.type, why: made.why } : made)
    }
  }
  return frames
}

const isTooLong = (error: Error): boolean => error instanceof RangeError && error.message.includes('is longer than')

/** Encodes an object as an API server does: `k8s`, a zero byte, the kind and the message. */
function enveloped(kind: string, message: Buffer): Buffer {
  const type = Buffer.concat([field(1, 'v1'), field(2, kind)])
  return Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, message)])
}

/** Encodes a PersistentVolume as protobuf. */
export function volumeMessage(): Buffer {
  const metadata = Buffer.concat([
    field(1, 'a'),
    field(5, 'u'),
    field(6, '7'),
    field(12, Buffer.concat([field(1, 'k'), field(2, 'v')])),
  ])
  const capacity = Buffer.concat([field(1, 'storage'), field(2, field(1, '1Gi'))])
  return Buffer.concat([field(1, metadata), field(2, field(1, capacity)), field(3, field(1, 'Bound'))])
}

function volume(): Buffer {
  return enveloped('PersistentVolume', volumeMessage())
}

function status(): Buffer {
  const details = Buffer.concat([field(2, 'g'), Buffer.of(40, 3)])
  return enveloped(
    'Status',
    Buffer.concat([field(3, 'old'), field(4, 'Expired'), field(5, details), Buffer.of(48, 0x9a, 3)]),
  )
}

function frame(type: string, object: Buffer): Buffer {
  const event = Buffer.concat([field(1, type), field(2, field(1, object))])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(event.length)
  return Buffer.concat([length, event])
}

/** Parses an HTTP answer that arrives in pieces of `size` bytes. The result must not depend on the size. */
function answerOf(input: Buffer, size: number): unknown {
  const parser = new ResponseParser()
  const seen = { status: 0, type: '', body: '', ended: 0 }
  parser.expect({
    head: (head) => {
      seen.status = head.status
      seen.type = head.header('content-type') ?? ''
    },
    data: (bytes) => {
      seen.body += bytes.toString('latin1')
    },
    end: () => {
      seen.ended += 1
    },
  })
  const pushed = attempt(
    () => {
      for (let at = 0; at < input.length; at += size) parser.push(input.subarray(at, at + size))
      return true
    },
    (error) => error instanceof ProtocolError,
  )
  if (seen.ended > 1) throw new Error('an answer ends once')
  if ('refused' in pushed) return { ended: seen.ended, status: seen.status }
  return { ...seen, keepAlive: parser.keepAlive, whole: parser.close() }
}

/** The longest input that is also parsed in pieces. In pieces, the parser refuses long HTTP headers earlier. */
const MAX_HEAD_BYTES = 4_096

export const httpAnswers: BytesReader = {
  name: 'http-answers',
  seeds: [
    'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\n{}\r\n0\r\nA: b\r\n\r\n',
    'HTTP/1.0 404 Not Found\r\nConnection: keep-alive\r\n\r\nno',
  ],
  words: [
    ...['\r\n', '\r\n\r\n', 'HTTP/1.1 ', 'HTTP/1.0 ', '200', '204', '304', '429', '100', 'Content-Length: ', '0\r\n'],
    ...['Transfer-Encoding: ', 'chunked', 'gzip', 'Connection: ', 'close', 'keep-alive', 'Retry-After: ', ';', 'ffff'],
    Buffer.from('000006040000000000', 'hex'),
  ],
  read: (input) => {
    const whole = answerOf(input, input.length || 1)
    if (input.length > MAX_HEAD_BYTES) return
    for (const size of [1, 7]) same(answerOf(input, size), whole, `in pieces of ${size} bytes`)
  },
}
