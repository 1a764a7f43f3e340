// Keeps a port busy: `node crowd.ts slow|tls PORT COUNT`. It is a separate process, so that its work does not delay
// the measurements of the test.
//   slow: each client sends its request one byte at a time, and connects again when the connection is closed.
//   Prints "over" when each client has sent ten bytes, or was disconnected.
//   tls: opens connections that stop during the TLS handshake, stop during the request, or send a whole request.
//   Prints "over" when the server has closed the connections with unfinished handshakes.
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { pause, repeat } from '../waiting.ts'

const [port = 0, count = 0] = process.argv.slice(3).map(Number)
const BETWEEN_BYTES_MS = 100
const SLOW_REQUEST = `GET /metrics HTTP/1.1\r\nHost: ${'x'.repeat(500)}\r\n\r\n`
const BETWEEN_CONNECTIONS_MS = 3
/** The first bytes of a TLS ClientHello. The client never sends the rest. */
const HALF_A_HELLO = '\x16\x03\x01\x01\x00\x01\x00'

/** The clients that have not sent ten bytes and were not disconnected. */
let starting = count
const MIN_BYTES = 10

function begun(): void {
  starting -= 1
  if (starting === 0) process.stdout.write('over\n')
}

async function slowRequest(enough: () => void): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => undefined).resume()
  for (const [index, byte] of [...SLOW_REQUEST].entries()) {
    if (socket.destroyed) break
    if (index === MIN_BYTES) enough()
    socket.write(byte)
    await Promise.race([pause(BETWEEN_BYTES_MS), closed])
  }
  socket.destroy()
  await closed
  enough()
}

async function slowClient(): Promise<never> {
  const { promise, resolve } = Promise.withResolvers<void>()
  void promise.then(begun)
  for (;;) await slowRequest(resolve)
}

function saying(socket: Socket, event: string, bytes: string): Socket {
  return socket.once(event, () => socket.write(bytes))
}

const secured = (bytes: string): Socket =>
  saying(connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }), 'secureConnect', bytes)

let shaking = 0
const unending = (bytes: string): Socket => {
  shaking += 1
  return saying(connect(port, '127.0.0.1'), 'connect', bytes).once('close', () => {
    shaking -= 1
  })
}

const KINDS: readonly (() => Socket)[] = [
  () => unending(''),
  () => unending(HALF_A_HELLO),
  () => secured(''),
  () => secured('GET /metrics HTTP/1.1\r\nHost: x\r\n'),
  () => secured('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'),
  () => secured('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'),
]

async function tlsClients(): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    // An error is expected, because the server closes the connection.
    KINDS[index % KINDS.length]?.()
      .on('error', () => undefined)
      .resume()
    await pause(BETWEEN_CONNECTIONS_MS)
  }
  await repeat(50, () => shaking > 0)
  process.stdout.write('over\n')
  await new Promise(() => setInterval(() => undefined, 60_000))
}

await (process.argv[2] === 'tls' ? tlsClients() : Promise.race(Array.from({ length: count }, slowClient)))
