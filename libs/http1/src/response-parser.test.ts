import { describe, expect, test } from '@jest/globals'
import { ProtocolError, ResponseParser } from './response-parser.ts'

interface Seen {
  readonly status: number
  readonly header: (name: string) => string | undefined
  body: string
  ended: boolean
}

/** Feeds `text` in pieces of `size` bytes and returns the result of the parser. */
function parse(text: string, size = text.length): { responses: Seen[]; parser: ResponseParser } {
  const parser = new ResponseParser()
  const responses: Seen[] = []
  const expectOne = (): void => {
    let current: Seen | undefined
    parser.expect({
      head: (head) => {
        current = { status: head.status, header: (name) => head.header(name), body: '', ended: false }
        responses.push(current)
      },
      data: (bytes) => {
        if (current !== undefined) current.body += bytes.toString()
      },
      end: () => {
        if (current !== undefined) current.ended = true
      },
    })
  }
  expectOne()
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) parser.push(bytes.subarray(at, at + size))
  return { responses, parser }
}

const CHUNKED =
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n again\r\n0\r\nTrailer: 1\r\n\r\n'

const LONG = 'abcdefghij'.repeat(17).slice(0, 0xa5)
const HEX_SIZES = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na5\r\n${LONG}\r\n0A5 \r\n${LONG}\r\n00\r\n\r\n`

describe('a response', () => {
  test.each([
    ['with a length', 'HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello', 201, 'hello'],
    ['without a body', 'HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n', 204, ''],
    ['of length zero', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', 200, ''],
    ['in chunks', CHUNKED, 200, 'hello again'],
    ['in chunks of hexadecimal sizes', HEX_SIZES, 200, LONG + LONG],
    ['after 100 Continue', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', 200, 'ok'],
    ['without a reason phrase', 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok', 200, 'ok'],
  ])('the parser reads a response %s, however its bytes are cut', (_, text, status, body) => {
    for (let size = 1; size <= text.length; size += 1) {
      const { responses, parser } = parse(text, size)
      expect(responses).toMatchObject([{ status, body, ended: true }])
      expect(parser.keepAlive).toBe(true)
    }
  })

  test('a response without a length ends when the connection ends', () => {
    const { responses, parser } = parse('HTTP/1.1 200 OK\r\n\r\nhello')
    expect(responses).toMatchObject([{ body: 'hello', ended: false }])
    expect(parser.close()).toBe(true)
    expect(responses).toMatchObject([{ body: 'hello', ended: true }])
    expect(parser.keepAlive).toBe(false)
  })

  test.each([
    ['in the head', 'HTTP/1.1 200 OK\r\nConte'],
    ['in the body', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel'],
    ['before the last chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'],
  ])('a response that is cut %s is not complete', (_, text) => {
    expect(parse(text).parser.close()).toBe(false)
  })

  test('the response parser matches whole header names and ignores their case', () => {
    const { responses } = parse(
      'HTTP/1.1 429 Slow\r\nX-Retry-After: 9\r\nRETRY-AFTER:  7 \r\nContent-Length: 0\r\n\r\n',
    )
    expect(responses[0]?.header('retry-after')).toBe('7')
    expect(responses[0]?.header('retry')).toBeUndefined()
  })

  test.each([
    ['Connection: close', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n', false],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n', false],
    ['HTTP/1.0 with keep-alive', 'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n', true],
    ['no Connection header', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', true],
  ])('the parser decides whether to keep the connection after a response with %s', (_, text, kept) => {
    expect(parse(text).parser.keepAlive).toBe(kept)
  })
})

test.each([
  ['a text that is not HTTP', 'SSH-2.0-OpenSSH_9\r\n\r\n'],
  ['a bad length', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n'],
  ['an unknown encoding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n'],
  ['a bad chunk size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n'],
  ['a chunk size of no digits', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n;x=y\r\n'],
  ['an endless chunk size', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'0'.repeat(12)}1\r\n`],
  ['an extension of another kind', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1 x\r\n'],
  ['a chunk longer than it says', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n'],
  ['a chunk line without carriage return', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n'],
  ['a head without end', `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(20_000)}`],
  ['a second response', `${'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'.repeat(2)}`],
])('the parser refuses a response with: %s', (_, text) => {
  expect(() => parse(text)).toThrow(ProtocolError)
})

test.each([
  ['a SETTINGS frame', '000006040000000000000300000064'],
  ['a GOAWAY frame', '0000080700000000000000000000000001'],
])('the error for an HTTP/2 response that begins with %s says that the server lacks HTTP/1.1', (_, hex) => {
  const parser = new ResponseParser()
  parser.expect({ head: () => undefined, data: () => undefined, end: () => undefined })
  expect(() => parser.push(Buffer.from(hex, 'hex'))).toThrow('the server speaks no HTTP/1.1')
  expect(() => new ResponseParser().push(Buffer.from(hex, 'hex'))).toThrow('the server speaks no HTTP/1.1')
})
