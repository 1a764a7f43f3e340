import { POD_MESSAGE } from '@csi-sidecars/kube-types'
import { describe, expect, test } from '@jest/globals'
import { enveloped, field, pod, status } from '../testing/messages.ts'
import { NoListError } from './list-decoder.ts'
import { decodeListMessage } from './protobuf.ts'
import { errorOfReply } from './reply-error.ts'

const META = field(1, field(2, '7'), field(3, 'token'))
const listed = (...items: readonly Buffer[]): Buffer =>
  enveloped(Buffer.concat([META, ...items.map((item) => field(2, item))]), 'PodList')
const names = (bytes: Buffer): unknown[] =>
  [...decodeListMessage(bytes, POD_MESSAGE).objects].map((object) => Object(object).metadata?.name)

describe('a list', () => {
  test.each([[[]], [['a']], [['a', 'b', 'c']]])(
    'the protobuf decoder yields the objects of a list one by one: %j',
    (expected) => {
      const bytes = listed(...expected.map(pod))
      expect(names(bytes)).toEqual(expected)
      expect(decodeListMessage(bytes, POD_MESSAGE).head).toEqual({ resourceVersion: '7', continue: 'token' })
    },
  )

  test('an empty continue token in a protobuf list counts as no token', () => {
    const { head } = decodeListMessage(enveloped(field(1, field(2, '7'), field(3, ''))), POD_MESSAGE)
    expect(head).toEqual({ resourceVersion: '7', continue: undefined })
  })

  test('the protobuf decoder decodes an object of a list only when the caller reads it', () => {
    const { objects } = decodeListMessage(listed(pod('a'), Buffer.from([0x0a, 0x7f])), POD_MESSAGE)
    const iterator = objects[Symbol.iterator]()
    expect(iterator.next()).toMatchObject({ value: { metadata: { name: 'a' } } })
    expect(() => iterator.next()).toThrow(NoListError)
  })

  test.each<[string, Buffer]>([
    ['nothing', Buffer.alloc(0)],
    ['HTML', Buffer.from('<html>')],
    ['a prefix and an invalid byte', Buffer.from('k8s\0\xff')],
    ['bytes that end too early', listed(pod('a')).subarray(0, -3)],
  ])('a protobuf list cannot be decoded from %s', (_, bytes) => {
    expect(() => decodeListMessage(bytes, POD_MESSAGE)).toThrow(NoListError)
  })
})

describe('a refusal', () => {
  const reply = (body: Buffer) => ({
    status: 410,
    contentType: 'application/vnd.kubernetes.protobuf',
    retryAfterMs: undefined,
    body,
  })

  test('the error for a protobuf refusal contains the reason and the message of its Status', () => {
    const error = errorOfReply(reply(status('too old', 'Expired')), { method: 'GET' })
    expect(error).toMatchObject({ code: 410, reason: 'Expired', message: 'too old' })
  })

  test('the error for a protobuf refusal without a Status has the reason Unknown and does not quote the body', () => {
    const error = errorOfReply(reply(Buffer.from('secret')), { method: 'GET' })
    expect(error).toMatchObject({ code: 410, reason: 'Unknown' })
    expect(error.message).not.toContain('secret')
  })
})
