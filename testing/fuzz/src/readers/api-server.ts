import { FrameReader, frameOf, frameOfMessage, LineReader, parseJson } from '@csi-sidecars/kube-client/readers'
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
  keywords: [
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
  const complete = attempt(
    () => JSON.parse(line) as unknown,
    (error) => error instanceof SyntaxError,
  )
  // A line with `managedFields` twice is skipped, because the two parsers may keep different values.
  if ('refused' in complete || line.split('managedFields').length > 2) return
  same(withoutManagedFields(parseJson(line)), withoutManagedFields(complete.value), 'without managedFields')
}

function withoutManagedFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutManagedFields)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value).flatMap(([key, each]) =>
    key === 'managedFields' ? [] : [[key, withoutManagedFields(each)]],
  )
}

export const protobufFrames: BytesReader = {
  name: 'protobuf-frames',
  seeds: [frame('ADDED', volume()), frame('BOOKMARK', volume()), frame('ERROR', status())],
  keywords: [
    ...['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR', 'k8s\0', 'Status', 'v1', 'k8s.io/initial-events-end'],
    ...[Buffer.of(0, 0, 0, 4), Buffer.of(0xff, 0xff, 0xff, 0xff), Buffer.of(10, 2), Buffer.of(18, 4), Buffer.of(8)],
    Buffer.from('ffffffffffffffffff01', 'hex'),
  ],
  read: (input) => {
    const inOnePiece = framesOf(input, input.length || 1)
    same(framesOf(input, 3), inOnePiece, 'in pieces of 3 bytes')
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
