import { FakeClock } from '@csi-sidecars/base/testing'
import { describe, expect, test } from '@jest/globals'
import { createLogSink, type LogStream, openLog } from './log-sink.ts'

/** A stream whose reader reads only when the test calls `readAll`. */
class Pipe implements LogStream {
  readonly read: string[] = []
  #waiting: { text: string; done: (() => void) | undefined }[] = []
  #onError: ((error: Error) => void) | undefined

  get writableLength(): number {
    return this.#waiting.reduce((sum, { text }) => sum + text.length, 0)
  }

  write(text: string, done?: () => void): boolean {
    this.#waiting.push({ text, done })
    return false
  }

  on(_event: 'error', listener: (error: Error) => void): void {
    this.#onError = listener
  }

  readAll(): void {
    for (const { text, done } of this.#waiting.splice(0)) {
      if (text !== '') this.read.push(text)
      done?.()
    }
  }

  break(): void {
    this.#onError?.(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
  }
}

function piped(maxBufferedBytes = 10) {
  const stream = new Pipe()
  const clock = new FakeClock()
  const reported: number[] = []
  const onDropped = (records: number): void => {
    reported.push(records)
  }
  return { stream, clock, reported, sink: createLogSink({ stream, clock, maxBufferedBytes, onDropped }) }
}

describe('stuck readers', () => {
  test('the log drops records beyond its buffer while its reader is stuck, and later reports their number', () => {
    const { stream, sink, reported } = piped()
    for (const record of ['12345\n', '67890\n', 'lost1\n', 'lost2\n']) sink.write(record)
    expect({ dropped: sink.droppedCount, reported }).toEqual({ dropped: 2, reported: [] })
    stream.readAll()
    sink.write('later\n')
    stream.readAll()
    expect({ dropped: sink.droppedCount, reported, read: stream.read }).toEqual({
      dropped: 2,
      reported: [2],
      read: ['12345\n', '67890\n', 'later\n'],
    })
  })

  test('a flush of the log ends after the given time even if the reader is stuck', async () => {
    const { stream, clock, sink } = piped()
    sink.write('a\n')
    const flushed = sink.flush(500)
    await clock.advance(499)
    expect(clock.pending).toBe(1)
    await clock.advance(1)
    await flushed
    expect(stream.read).toEqual([])
  })
})

describe('closed streams', () => {
  test('the log drops all further records without an exception after its reader has disconnected', async () => {
    const { stream, sink } = piped()
    stream.break()
    sink.write('a\n')
    await sink.flush(500)
    expect({ dropped: sink.droppedCount, waiting: stream.writableLength }).toEqual({ dropped: 1, waiting: 0 })
  })
})

test('a flush of the log ends as soon as all records are written, and leaves no timer', async () => {
  const { stream, clock, sink } = piped()
  sink.write('a\n')
  const flushed = sink.flush(500)
  stream.readAll()
  await flushed
  expect({ read: stream.read, pending: clock.pending }).toEqual({ read: ['a\n'], pending: 0 })
})

test('a flush of the log ends at once if no record is waiting', async () => {
  const { clock, sink } = piped()
  await sink.flush(500)
  expect(clock.pending).toBe(0)
})

test('the log reports the number of dropped lines in the format of the log', () => {
  const stream = new Pipe()
  const { log, sink } = openLog({ format: 'json', verbosity: 0, clock: new FakeClock(), stream })
  const line = 'x'.repeat(600_000)
  for (let count = 0; count < 4; count += 1) log.info(line)
  expect(sink.droppedCount).toBe(2)
  stream.readAll()
  log.info('back')
  stream.readAll()
  const [note, back] = stream.read.slice(2).map((record) => JSON.parse(record))
  expect([note.msg, note.count, back.msg]).toEqual(['Dropped log lines because their reader is too slow', 2, 'back'])
})
