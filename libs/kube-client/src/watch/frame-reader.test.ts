import { expect, test } from '@jest/globals'
import { framed } from '../testing/messages.ts'
import { FrameReader } from './frame-reader.ts'

const frames = ['one', '', 'zwei', 'x'.repeat(300)].map((text) => framed(Buffer.from(text)))

function drained(reader: FrameReader): string[] {
  const texts: string[] = []
  for (let frame = reader.next(); frame !== undefined; frame = reader.next()) {
    texts.push(frame.bytes.toString('utf8', frame.from, frame.to))
  }
  return texts
}

test('the frame reader returns whole frames, however the stream is split into chunks', () => {
  const bytes = Buffer.concat([...frames, Buffer.from([0, 0])])
  for (const size of [1, 2, 3, 5, 7, 64, 1000]) {
    for (const pause of [1, 3, 1000]) {
      const reader = new FrameReader()
      const texts: string[] = []
      for (let at = 0, piece = 1; at < bytes.length; at += size, piece += 1) {
        reader.push(bytes.subarray(at, at + size))
        if (piece % pause === 0) texts.push(...drained(reader))
      }
      texts.push(...drained(reader))
      expect(texts).toEqual(['one', '', 'zwei', 'x'.repeat(300)])
      expect(reader.unreadBytes).toBe(2)
      expect(reader.hasPartialFrame).toBe(true)
    }
  }
})

test('the frame reader has no unread bytes after the last complete frame', () => {
  const reader = new FrameReader()
  reader.push(Buffer.concat(frames))
  drained(reader)
  expect([reader.hasPartialFrame, reader.unreadBytes]).toEqual([false, 0])
})

test('the frame reader releases the memory of its buffer when all bytes are read', () => {
  const reader = new FrameReader()
  const large = framed(Buffer.alloc(1_000_000, 'a'))
  for (let times = 0; times < 3; times += 1) reader.push(large)
  expect(reader.bufferedBytes).toBeGreaterThan(3_000_000)
  expect(drained(reader).map(({ length }) => length)).toEqual([1_000_000, 1_000_000, 1_000_000])
  expect(reader.bufferedBytes).toBe(0)
  reader.push(large.subarray(0, 1000))
  reader.push(large.subarray(1000))
  reader.push(framed(Buffer.from('small')))
  expect(drained(reader).at(-1)).toBe('small')
  for (let times = 0; times < 3; times += 1) {
    reader.push(framed(Buffer.alloc(30_000, 'b')))
    expect(drained(reader)).toEqual(['b'.repeat(30_000)])
  }
})

test('the frame reader refuses a frame with a length above the limit before its bytes arrive', () => {
  const reader = new FrameReader(100)
  reader.push(framed(Buffer.alloc(100)))
  expect(drained(reader)).toHaveLength(1)
  reader.push(framed(Buffer.alloc(101)).subarray(0, 10))
  expect(() => reader.next()).toThrow(RangeError)
})
