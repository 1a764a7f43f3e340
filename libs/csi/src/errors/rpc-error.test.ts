import { expect, test } from '@jest/globals'
import { connectFailure, retryDelayMs } from './rpc-error.ts'

const bytes = (...chunks: (number | string | Uint8Array)[]) =>
  Buffer.concat(chunks.map((part) => (typeof part === 'number' ? Buffer.of(part) : Buffer.from(part))))
const field = (number: number, content: Uint8Array | string) => bytes((number << 3) | 2, content.length, content)

const any = (type: string, value: Uint8Array) => field(3, bytes(field(1, type), field(2, value)))
const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo'
const retryInfo = (duration: Uint8Array) => any(RETRY_INFO, field(1, duration))

const TWO_SECONDS = bytes(8, 2)
const HALF_A_SECOND = bytes(16, 0x80, 0xca, 0xb5, 0xee, 0x01)
const MINUS_ONE = bytes(8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01)

test.each([
  ['whole seconds', retryInfo(TWO_SECONDS), 2000],
  ['nanoseconds', retryInfo(HALF_A_SECOND), 500],
  ['seconds and nanoseconds', retryInfo(bytes(TWO_SECONDS, HALF_A_SECOND)), 2500],
  ['an empty duration as zero', retryInfo(bytes()), 0],
  ['a negative duration as zero', retryInfo(MINUS_ONE), 0],
  ['a status with code and message', bytes(8, 8, field(2, 'busy'), retryInfo(TWO_SECONDS)), 2000],
  [
    'a status with another detail',
    bytes(any('type.googleapis.com/google.rpc.ErrorInfo', field(1, 'x')), retryInfo(TWO_SECONDS)),
    2000,
  ],
  ['fixed-width fields', bytes((9 << 3) | 1, '12345678', retryInfo(TWO_SECONDS), (9 << 3) | 5, '1234'), 2000],
])('the wait that the driver asks for is read from %s', (_, status, ms) => {
  expect(retryDelayMs(status)).toBe(ms)
})

test.each([
  ['no bytes', bytes()],
  ['no detail', bytes(8, 8, field(2, 'busy'))],
  ['another detail', any('type.googleapis.com/google.rpc.ErrorInfo', field(1, TWO_SECONDS))],
  ['a detail without a delay', any(RETRY_INFO, bytes())],
  ['a cut varint', bytes(0xff)],
  ['a varint without end', bytes(8, ...Array<number>(12).fill(0xff))],
  ['a length beyond the end', bytes(26, 100, 'x')],
  ['a group', bytes((1 << 3) | 3)],
])('no wait of the driver is read from %s', (_, status) => {
  expect(retryDelayMs(status)).toBeUndefined()
})

test('damaged bytes in an error of the driver never cause an exception', () => {
  const complete = retryInfo(bytes(TWO_SECONDS, HALF_A_SECOND))
  for (let length = 0; length < complete.length; length += 1) {
    for (let bit = 0; bit < 8; bit += 1) {
      const damaged = Buffer.from(complete)
      damaged[length] = (damaged[length] ?? 0) ^ (1 << bit)
      expect(() => retryDelayMs(damaged)).not.toThrow()
      expect(() => retryDelayMs(complete.subarray(0, length))).not.toThrow()
    }
  }
})

test.each([
  ['ENOENT', 'connect: no such file or directory'],
  ['ECONNREFUSED', 'connect: connection refused'],
  ['EMFILE', 'connect: EMFILE'],
])('a failed connection with the code %s is reported as %s', (code, text) => {
  expect(connectFailure(Object.assign(new Error('no'), { code }))).toBe(text)
})

test('a refused connection names both causes: the permission of the socket, and SELinux', () => {
  const text = connectFailure(Object.assign(new Error('no'), { code: 'EACCES' }))
  expect(text).toMatch(/^connect: permission denied: /)
  expect(text).toContain('the user of this process cannot write to the socket')
  expect(text).toContain('SELinux (avc: denied { connectto })')
})

test('a failed connection without a code is reported with the message of the error', () => {
  expect(connectFailure(new Error('strange'))).toBe('connect: strange')
})
