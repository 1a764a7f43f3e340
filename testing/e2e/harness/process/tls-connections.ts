// A process that keeps a port busy: `node tls-connections.ts PORT COUNT`. A separate process, so that its handshakes
// do not delay what the test measures. Prints "over" once the server has closed all unfinished handshakes.
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { pause } from '../waiting.ts'

const [port = 0, count = 0] = process.argv.slice(2).map(Number)
const BETWEEN_MS = 3
/** A ClientHello that announces more than follows. */
const HALF_A_HELLO = '\x16\x03\x01\x01\x00\x01\x00'

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

for (let index = 0; index < count; index += 1) {
  // The server closes them; that is expected.
  KINDS[index % KINDS.length]?.()
    .on('error', () => undefined)
    .resume()
  await pause(BETWEEN_MS)
}
while (shaking > 0) await pause(50)
process.stdout.write('over\n')
await new Promise(() => setInterval(() => undefined, 60_000))
