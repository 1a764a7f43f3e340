import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { systemClock } from '@csi-sidecars/base'
import { HttpConnection } from '@csi-sidecars/http1'
import { ProtocolError, ResponseParser } from '@csi-sidecars/http1/parser'
import { attempt, type BytesReader, same } from '../reader.ts'

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
  keywords: [
    ...['\r\n', '\r\n\r\n', 'HTTP/1.1 ', 'HTTP/1.0 ', '200', '204', '304', '429', '100', 'Content-Length: ', '0\r\n'],
    ...['Transfer-Encoding: ', 'chunked', 'gzip', 'Connection: ', 'close', 'keep-alive', 'Retry-After: ', ';', 'ffff'],
    Buffer.from('000006040000000000', 'hex'),
  ],
  read: (input) => {
    const inOnePiece = answerOf(input, input.length || 1)
    if (input.length > MAX_HEAD_BYTES) return
    for (const size of [1, 7]) same(answerOf(input, size), inOnePiece, `in pieces of ${size} bytes`)
  },
}

/** A socket whose bytes and whose end the test decides. */
class ScriptedSocket extends EventEmitter {
  write(): boolean {
    return true
  }

  destroy(): void {}
}

/** One exchange on a connection. Throws if a part of the answer comes in a wrong order or after the end. */
class WatchedExchange {
  #state: 'sent' | 'head' | 'over' = 'sent'

  get isOver(): boolean {
    return this.#state === 'over'
  }

  head(): void {
    this.#step('sent', 'head')
  }

  data(): void {
    this.#step('head', 'head')
  }

  end(): void {
    this.#step('head', 'over')
  }

  fail(): void {
    if (this.isOver) throw new Error('an exchange failed after its end')
    this.#state = 'over'
  }

  #step(from: 'sent' | 'head', to: 'head' | 'over'): void {
    if (this.#state !== from) throw new Error(`the state of an exchange was ${this.#state} instead of ${from}`)
    this.#state = to
  }
}

/** Feeds the input in pieces to a connection that sends a request as soon as it may. */
function checkConnection(input: Buffer, size: number): void {
  const socket = new ScriptedSocket()
  let lost = 0
  const connection = new HttpConnection(socket as unknown as Socket, { clock: systemClock, onLost: () => (lost += 1) })
  const exchanges: WatchedExchange[] = []
  for (let at = 0; at < input.length; at += size) {
    if (connection.isUsable) {
      if (exchanges.at(-1)?.isOver === false) throw new Error('a connection with a running exchange was usable')
      const exchange = new WatchedExchange()
      exchanges.push(exchange)
      connection.begin('GET / HTTP/1.1\r\n\r\n', exchange)
    }
    socket.emit('data', input.subarray(at, at + size))
  }
  socket.emit('end')
  socket.emit('close')
  if (!exchanges.every(({ isOver }) => isOver)) throw new Error('an exchange outlives its connection')
  if (lost !== 1 || connection.isUsable) throw new Error(`the connection was lost ${lost} times`)
}

export const httpConnections: BytesReader = {
  name: 'http-connections',
  seeds: httpAnswers.seeds.flatMap((seed) => [seed, `${seed}${httpAnswers.seeds[0]}`]),
  keywords: httpAnswers.keywords,
  read: (input) => {
    for (const size of [1, 7, 64, input.length || 1]) checkConnection(input, size)
  },
}
