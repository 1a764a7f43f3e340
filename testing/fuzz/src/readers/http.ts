import { ProtocolError, ResponseParser } from '@csi-sidecars/kube-client/readers'
import { attempt, type BytesReader, same } from '../reader.ts'

/** Parses an HTTP answer in pieces of `size` bytes. The result must not depend on the size. */
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

/** The longest input that is compared in pieces. The parser refuses a long head earlier if it arrives in pieces. */
const LONGEST_HEAD = 4_096

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
    if (input.length > LONGEST_HEAD) return
    for (const size of [1, 7]) same(answerOf(input, size), whole, `in pieces of ${size} bytes`)
  },
}
